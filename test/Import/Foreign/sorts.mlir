// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 7x7: 7 5 4 2 2 0 0 0 1 7 5 8 4 5 8 6 5 4 5 8 2 7 6 0 3 7 4 0 6 6 7 1 0 7 0 4 0 2 4 3 3 0 0 1 0 6 4 5 2
// arg 1 f8 7x7: -0.7434992493538084 -0.9217253762584194 -0.45772582566733916 0.2201951234700494 -1.009618183538736 -0.20917557487171307 -0.15922500991447772 0.5408455846858077 0.2146591225063409 0.3553727090399214 -0.6538286094183394 -0.12961363369276946 0.7839754700613295 1.4934311452207607 -1.2590655321041202 1.5139237747390626 1.3458754237823045 0.7813114007004275 0.2644556303293035 -0.3139228145364278 1.4580206835369587 1.9602583164499647 1.801634869866125 1.31510376473437 0.357380410658956 -1.2083186322821715 -0.004454133120083229 0.6564749350763358 -1.2883614637495544 0.39512206018200824 0.42986369482223 0.6960427239628685 -1.184117966757189 -0.6617025720390349 -0.43643524714322124 -1.169801907772864 1.739367877130134 -0.4959107284421519 0.3289696294602021 -0.258572545473924 1.5834728788021222 1.3203609870818391 0.6333526228249152 -2.2035098806466507 0.05202897425988651 0.6836861907765345 1.0039615758421696 -0.6179070447076008 1.8220113633283233
// cotangent 0 f8 7x7: 0.9901930104706482 0.8978873498755306 -0.07990972138180785 0.5154576906165829 -0.005154609024762058 0.05862432039354082 0.571571401427615 -0.17068830128865842 0.4689671435774587 0.4222857559794997 0.8641193732267565 -0.7701347334381896 0.4580302341526188 0.8548478572491198 0.9358523798492928 -0.9705873900692614 0.7272801804911515 0.9623900801326886 0.9144203592219271 -0.7024719755350042 0.9452576276459099 0.7798711114410413 0.6447476550861408 -0.040024152384335654 -0.5352541607213923 0.6037611574366157 0.8470603195669391 -0.46773945541541484 0.07786881524437383 -0.114494342050937 0.86203463196231 -0.9189785776231307 0.46401239131312155 0.22874649389799329 -0.9432692697729579 0.43843954565348064 -0.968016540952856 0.5159020047128562 0.025517446524156107 0.8582084415940123 -0.8678350065518505 0.6826345592247665 -0.8666199824657972 -0.31138004239174966 -0.1394025361043334 0.9321241615681404 0.12446368445691403 -0.4822708136581355 -0.5166485718113101
// cotangent 1 f8 7x7: 0.7762366413183597 -0.5482611431653512 -0.750890588329433 -0.4233384859848448 0.1722461296254656 0.10818100434653566 0.6194215518255555 0.12095190401237166 -0.423157571137579 -0.1742073146382146 0.6362419419418208 0.253012924839507 0.9181552853948844 -0.26119117781663825 0.10522302104257442 0.18784840322633656 0.69658241655012 -0.7090529236269365 -0.1869793265037467 0.8199179233245939 -0.9138662228635916 0.6454125603630039 -0.1692319252575507 0.6596079705562055 -0.9800908783854161 -0.2699076844834587 -0.8427399256687202 0.3052291526732769 -0.4523018028008856 0.4053041413195726 0.8876028538841816 -0.7463657954775045 0.7295565908015482 -0.8810716967993231 -0.23845898337822113 -0.14045187764284672 -0.02230090633307147 0.9529246438720891 0.5513823762036567 -0.382285274561478 -0.4603264289983997 0.7262404083786356 0.7626143454753798 0.021413011087290545 -0.3114085380753495 0.9898346963218356 -0.3681129092645996 -0.6345752421468751 0.7601962426081394
// cotangent 4 f8 7x7: 0.624670796222508 0.33577881114270247 0.9168272635559038 0.8514291544288375 0.49649700660350815 0.7214028190953554 -0.505706519355785 -0.7175068861979368 0.3401236986298719 0.42923707330950545 -0.6658941424354556 -0.20888545379024803 0.8205115324321095 0.12280153510044589 0.15667182985254535 -0.6117404542184128 0.05204449723575033 0.04686945478983984 -0.822128719507456 0.9638853862534125 0.14279120091154884 -0.9871822346713797 0.5452984024507772 0.9565314276802914 0.17974005664190096 -0.36063672743467 -0.6249845685444302 0.3450532678337386 -0.60978520308639 0.15537578503571847 0.20447835275925152 0.924846186248762 -0.8554694689402464 -5.4352682762992544e-05 0.4881949585652965 -0.6455465190506824 -0.22386653643096155 -0.8742090030900573 0.4517617275515535 -0.8244642264810265 -0.20981658328406483 0.7470452622414643 -0.05539932649997703 0.8252438672817712 0.5318342354777448 0.8306479202235317 -0.7451939819021873 -0.8528741893387359 -0.8593474928615639
// cotangent 5 f8 7x7: 0.7377085886946386 0.2681399586948865 -0.00685661240229396 -0.6729131676070395 0.34746687545454735 -0.36396522430840395 0.42175972653188976 -0.07928934226535045 0.01493972108905428 0.5793314649197407 -0.8145090489532385 0.15751700664700508 -0.6055301054082629 0.6162735036271363 -0.02230792774148016 0.9773906667356393 -0.6341133506485626 0.9260382802485345 0.601834073217218 -0.037479006849462815 0.627068128359271 0.20569781048223268 0.3102421279827605 0.8273815254147778 -0.8694591671774172 0.6699764079168011 -0.2363704400675224 -0.34890876779859115 0.9880535424199686 0.5623810041527564 -0.02892972244082448 -0.15474320715043755 0.7550578117435922 -0.8263702555702117 0.41683751382773204 0.578309247410292 0.5983927594322296 -0.35542655052033645 0.5932783654921092 -0.5493431162486697 -0.2753840990308618 -0.16510377559124034 0.08281996726032914 -0.7747726689188856 -0.18610439872138773 -0.9993986197861542 0.4887614526947981 0.7037518244685139 -0.7221366417596049
// cotangent 6 f8 7x7: 0.4075715385335956 0.6422061767892775 0.9636566457435876 0.6875811247374535 -0.15178702911197428 0.959377417019313 0.9479688097047103 0.007353958401157934 0.5068930771678104 0.8276753353463258 -0.04770585606249389 0.7275724821941698 0.4031371321237456 -0.41215148805088475 0.5353045399669472 0.14136957171899822 -0.8123096931333875 -0.21723914739067163 -0.8525179732043882 -0.047666073566008826 -0.1429207837141524 -0.1525251140591053 0.17260070718156872 -0.7546186796478531 0.8675378199136854 0.368100896150066 0.6475627167855433 0.7936024645275197 0.1666400938469519 -0.9195635581907986 0.422973648235516 0.13805170852671633 0.6519144443407985 0.06432094694868828 0.6264881907283848 0.9940205861449836 -0.29889037726422374 -0.6579571199586518 -0.21665040109219436 0.5060999797313528 -0.12154213628338706 0.17676021885842963 -0.7452830561566579 0.4522470218679606 -0.43983519626700107 -0.6187648791919635 0.7258999971663891 0.1288256422411882 -0.0310021153074993
// cotangent 7 f8 7x7: 0.797647530496969 -0.8279751278779948 0.3923089006817855 -0.34403542047079494 -0.6491805000298378 0.3495972999345578 -0.27435609827412777 -0.3402083350121283 0.8873555304583756 -0.6014033186410277 0.024347315675470105 -0.9519735986573015 -0.6732638177260877 0.7668374672671239 0.5784950965053526 0.11367098010798049 -0.5550932080172795 0.11549516524261283 -0.9757069477727749 0.42598726187584135 0.4335013611274563 0.2920900471327097 0.22267736855040243 -0.8525671347509249 -0.5071880618980489 0.14875609619586383 -0.21162646794220485 0.98404645716289 0.8474907147503625 -0.6959841949549259 0.17992118529906143 0.3924302122069132 -0.7269131713982278 -0.37480870579765746 0.43183569385098863 0.8022161868456732 -0.3165146995877295 -0.5221125766174388 0.6435840054604292 0.16996536045135668 -0.04682315658845915 -0.4876999571442153 -0.854683302703358 -0.9642171582060495 0.15994036112818955 -0.6177794530798504 0.9510659568536408 -0.7850455432277055 -0.09582242334578317
// cotangent 8 f8 : -0.21068040585808
// cotangent 9 f8 7x7: -0.535377049428938 0.4975114500078701 0.2874095241606207 0.45151537010373977 -0.8343828482070106 -0.2945131686071898 0.03966614866846352 -0.14655771253951788 -0.9187648762545095 -0.6119450901984136 0.890049296609253 -0.6748605504933636 0.7041046649255505 0.6442743181288801 -0.21741248584378403 -0.06643296031147305 0.6480036152998385 0.36137265114042494 0.6738874728581419 0.5151931716642475 0.38254295888120926 0.8259482120137562 0.6456142661891775 -0.6418746248340135 0.4964485501624898 -0.8266373537709144 -0.14828751941195684 -0.20649622569314952 -0.5956638120490307 0.8758102172719786 -0.810446643277666 -0.9902011700228488 -0.3541583926720433 0.981489436482444 -0.4706097432231202 0.6613885310354619 -0.6537727259590691 0.1727567095967555 0.916818670358784 0.43302646913161413 0.9610159503569726 0.1491132981780794 0.9666694131068427 0.6740940634400077 0.5564964522038565 0.7769797738230004 0.26298303452323335 -0.2872709072468571 0.05656488011398597
// cotangent 10 f8 : -0.5469992086352728
// result 0 f8 7x7: -1.2883614637495544 -2.2035098806466507 -0.4959107284421519 -0.6538286094183394 -1.2083186322821715 -0.6617025720390349 -0.43643524714322124 -1.2590655321041202 -0.9217253762584194 -0.45772582566733916 0.2201951234700494 -1.184117966757189 -0.6179070447076008 -0.15922500991447772 -1.169801907772864 0.2146591225063409 0.05202897425988651 0.3289696294602021 -1.009618183538736 -0.3139228145364278 0.6564749350763358 -0.7434992493538084 0.39512206018200824 0.3553727090399214 0.357380410658956 -0.258572545473924 -0.20917557487171307 1.3203609870818391 0.5408455846858077 1.5139237747390626 0.42986369482223 0.6836861907765345 -0.12961363369276946 -0.004454133120083229 1.4580206835369587 0.6333526228249152 1.739367877130134 1.31510376473437 0.6960427239628685 0.2644556303293035 0.7839754700613295 1.4934311452207607 1.9602583164499647 1.801634869866125 1.3458754237823045 0.7813114007004275 1.0039615758421696 1.5834728788021222 1.8220113633283233
// result 1 f8 7x7: -1.009618183538736 -0.9217253762584194 -0.7434992493538084 -0.45772582566733916 -0.20917557487171307 -0.15922500991447772 0.2201951234700494 -0.6538286094183394 -0.12961363369276946 0.2146591225063409 0.3553727090399214 0.5408455846858077 0.7839754700613295 1.4934311452207607 -1.2590655321041202 -0.3139228145364278 0.2644556303293035 0.7813114007004275 1.3458754237823045 1.4580206835369587 1.5139237747390626 -1.2083186322821715 -0.004454133120083229 0.357380410658956 0.6564749350763358 1.31510376473437 1.801634869866125 1.9602583164499647 -1.2883614637495544 -1.184117966757189 -0.6617025720390349 -0.43643524714322124 0.39512206018200824 0.42986369482223 0.6960427239628685 -1.169801907772864 -0.4959107284421519 -0.258572545473924 0.3289696294602021 1.3203609870818391 1.5834728788021222 1.739367877130134 -2.2035098806466507 -0.6179070447076008 0.05202897425988651 0.6333526228249152 0.6836861907765345 1.0039615758421696 1.8220113633283233
// result 2 i8 7x7: 5 6 3 4 2 1 0 0 1 5 3 6 2 4 6 3 2 4 1 0 5 2 6 3 5 1 0 4 4 6 3 0 1 2 5 1 6 2 4 5 0 3 0 2 1 6 4 5 3
// result 3 i8 7x7: 2 2 1 6 1 2 1 0 3 4 1 3 4 2 3 4 2 2 2 6 6 4 0 0 5 6 1 0 5 1 5 3 5 3 3 1 6 3 0 0 5 4 6 5 6 4 4 0 5
// result 4 f8 7x7: 0 0 2 2 4 5 7 0 1 4 5 5 7 8 2 4 5 5 6 8 8 0 0 3 4 6 7 7 0 0 1 6 6 7 7 0 0 2 3 3 4 4 0 0 1 2 4 5 6
// result 5 f8 7x7: -0.20917557487171307 -0.15922500991447772 0.2201951234700494 -1.009618183538736 -0.45772582566733916 -0.9217253762584194 -0.7434992493538084 0.5408455846858077 0.2146591225063409 0.7839754700613295 -0.6538286094183394 1.4934311452207607 0.3553727090399214 -0.12961363369276946 1.4580206835369587 0.7813114007004275 1.3458754237823045 0.2644556303293035 1.5139237747390626 -1.2590655321041202 -0.3139228145364278 1.31510376473437 0.6564749350763358 0.357380410658956 -0.004454133120083229 1.801634869866125 1.9602583164499647 -1.2083186322821715 -1.184117966757189 -0.43643524714322124 0.6960427239628685 -1.2883614637495544 0.39512206018200824 0.42986369482223 -0.6617025720390349 1.739367877130134 1.3203609870818391 -0.4959107284421519 -0.258572545473924 1.5834728788021222 -1.169801907772864 0.3289696294602021 0.6333526228249152 0.05202897425988651 -2.2035098806466507 1.8220113633283233 1.0039615758421696 -0.6179070447076008 0.6836861907765345
// result 6 f8 7x7: 0 0 0 1 0 0 0 0 1 0 2 2 3 0 4 1 2 3 3 4 0 6 5 4 4 4 4 0 7 6 5 4 5 5 2 7 6 7 5 7 7 2 8 6 7 6 8 8 5
// result 7 f8 7x7: 0.5408455846858077 1.739367877130134 0.05202897425988651 0.6960427239628685 -1.184117966757189 -0.20917557487171307 -0.43643524714322124 0.6333526228249152 -2.2035098806466507 1.31510376473437 0.2201951234700494 -1.009618183538736 1.5834728788021222 -0.15922500991447772 -1.169801907772864 0.2146591225063409 -0.4959107284421519 0.357380410658956 -0.258572545473924 -0.004454133120083229 0.6564749350763358 -1.2883614637495544 -0.9217253762584194 -0.45772582566733916 0.3289696294602021 1.0039615758421696 0.7839754700613295 1.3203609870818391 -0.7434992493538084 0.39512206018200824 1.3458754237823045 0.7813114007004275 0.2644556303293035 -0.6179070447076008 1.4580206835369587 1.9602583164499647 1.5139237747390626 0.3553727090399214 -0.6538286094183394 -1.2083186322821715 -0.6617025720390349 1.8220113633283233 -1.2590655321041202 1.801634869866125 0.42986369482223 0.6836861907765345 -0.12961363369276946 -0.3139228145364278 1.4934311452207607
// result 8 f8 : 0.2644556303293035
// result 9 f8 7x7: 1.9602583164499647 1.801634869866125 1.3458754237823045 0.7813114007004275 1.0039615758421696 1.5834728788021222 1.8220113633283233 0.6333526228249152 1.739367877130134 1.31510376473437 0.6960427239628685 0.2644556303293035 0.7839754700613295 1.4934311452207607 0.5408455846858077 1.5139237747390626 0.42986369482223 0.6836861907765345 -0.12961363369276946 -0.004454133120083229 1.4580206835369587 -0.7434992493538084 0.39512206018200824 0.3553727090399214 0.357380410658956 -0.258572545473924 -0.20917557487171307 1.3203609870818391 -1.169801907772864 0.2146591225063409 0.05202897425988651 0.3289696294602021 -1.009618183538736 -0.3139228145364278 0.6564749350763358 -1.2590655321041202 -0.9217253762584194 -0.45772582566733916 0.2201951234700494 -1.184117966757189 -0.6179070447076008 -0.15922500991447772 -1.2883614637495544 -2.2035098806466507 -0.4959107284421519 -0.6538286094183394 -1.2083186322821715 -0.6617025720390349 -0.43643524714322124
// result 10 f8 : -0.38743027410050407
// gradient 0 f8 7x7: -0.33906642550883315 0.8940035262769241 -0.25812167304434497 0.8691214074934099 1.5790016366230073 1.584048213241821 -0.07637267690818228 -0.30993534766434117 0.48149327034887013 0.1625544124734577 -0.88254454352765 0.848701532266835 1.0767997900950488 -0.23988756909774733 0.21860233009675456 -1.1210190967716798 0.4750181454712663 -0.4736887456916965 0.6987838991306383 0.27161684315273704 0.7831600205809301 0.3690360176005534 0.0916102944332906 -0.1595068993250539 0.7392922802896198 0.8511532475650914 0.13207398307589213 0.4023776187366248 0.7723210721896567 -1.775033027131045 -0.43988954894976406 0.892059477496705 -0.7615722321983642 0.36665282228190943 1.1033445947404288 0.32548795668288233 -0.003340342261404894 -1.6865186962234449 1.6145830821551497 -0.40075624565283463 -0.4213270943572809 0.5697359280965582 -0.0480453680988191 1.0387273126455552 1.7889005130253588 -1.4781123720535274 -0.3770930857521213 -0.7885532423900476 1.0074081390819614
// gradient 1 f8 7x7: 2.1241791764076163 -0.8743545813049631 -0.3333962797049672 2.417850298684272 -0.28838815839609744 1.9583248184096442 2.1471195857357452 0.8318274424717154 -0.14037378623846264 -1.17329951730223 1.2424643249591456 2.2820817535144617 1.1221299407461203 1.1274122828382303 -0.2962390587634429 -0.8094741515965131 -0.49316450379696053 2.044407486987496 0.8683750106429955 0.09008876585123349 0.6687193785423537 -0.5309221324433075 -0.9508492683418481 -0.7616562781278111 1.5636790506546938 0.7242975785142407 0.1312358350031142 0.23830049514759044 1.6419074607588775 2.078992128865533 -0.037463343979196706 0.3041426168435686 0.40706891940312784 1.0289706242701382 -0.15840413323843938 0.5028476876319061 -1.4102068892964328 -0.45623393404863877 -0.14872055117579275 0.34761986525712474 -2.4597173452384826 0.5259182609250772 1.0243281616839992 3.035846890527906 -0.7770387690989642 -2.265634930586761 -0.7069768570063097 1.7694023142677384 -1.2038847574650766

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<7x7xf64>, tensor<7x7xf64>) -> (tensor<7x7xf64>, tensor<7x7xf64>, tensor<7x7xi64>, tensor<7x7xi64>, tensor<7x7xf64>, tensor<7x7xf64>, tensor<7x7xf64>, tensor<7x7xf64>, tensor<f64>, tensor<7x7xf64>, tensor<f64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}, {jax.result_info = "result[6]"}, {jax.result_info = "result[7]"}, {jax.result_info = "result[8]"}, {jax.result_info = "result[9]"}, {jax.result_info = "result[10]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg37: tensor<7x7xf64>, %arg38: tensor<7x7xf64>):
    %196 = "func.call"(%arg38) <{callee = @sort}> : (tensor<7x7xf64>) -> tensor<7x7xf64>
    %197 = "func.call"(%arg38) <{callee = @sort_0}> : (tensor<7x7xf64>) -> tensor<7x7xf64>
    %198 = "func.call"(%arg37) <{callee = @argsort}> : (tensor<7x7xf64>) -> tensor<7x7xi64>
    %199 = "stablehlo.negate"(%arg37) : (tensor<7x7xf64>) -> tensor<7x7xf64>
    %200 = "func.call"(%199) <{callee = @argsort_1}> : (tensor<7x7xf64>) -> tensor<7x7xi64>
    %201:2 = "stablehlo.sort"(%arg37, %arg38) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg43: tensor<f64>, %arg44: tensor<f64>, %arg45: tensor<f64>, %arg46: tensor<f64>):
      %240 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %241 = "stablehlo.compare"(%arg43, %240) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %242 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %243 = "stablehlo.select"(%241, %242, %arg43) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %244 = "stablehlo.compare"(%arg43, %arg43) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %245 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %246 = "stablehlo.select"(%244, %245, %243) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %247 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %248 = "stablehlo.compare"(%arg44, %247) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %249 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %250 = "stablehlo.select"(%248, %249, %arg44) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %251 = "stablehlo.compare"(%arg44, %arg44) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %252 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %253 = "stablehlo.select"(%251, %252, %250) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %254 = "stablehlo.compare"(%246, %253) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%254) : (tensor<i1>) -> ()
    }) : (tensor<7x7xf64>, tensor<7x7xf64>) -> (tensor<7x7xf64>, tensor<7x7xf64>)
    %202:2 = "stablehlo.sort"(%arg37, %arg38) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg39: tensor<f64>, %arg40: tensor<f64>, %arg41: tensor<f64>, %arg42: tensor<f64>):
      %207 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %208 = "stablehlo.compare"(%arg39, %207) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %209 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %210 = "stablehlo.select"(%208, %209, %arg39) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %211 = "stablehlo.compare"(%arg39, %arg39) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %212 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %213 = "stablehlo.select"(%211, %212, %210) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %214 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %215 = "stablehlo.compare"(%arg40, %214) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %216 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %217 = "stablehlo.select"(%215, %216, %arg40) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %218 = "stablehlo.compare"(%arg40, %arg40) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %219 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %220 = "stablehlo.select"(%218, %219, %217) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %221 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %222 = "stablehlo.compare"(%arg41, %221) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %223 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %224 = "stablehlo.select"(%222, %223, %arg41) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %225 = "stablehlo.compare"(%arg41, %arg41) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %226 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %227 = "stablehlo.select"(%225, %226, %224) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %228 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %229 = "stablehlo.compare"(%arg42, %228) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %230 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %231 = "stablehlo.select"(%229, %230, %arg42) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %232 = "stablehlo.compare"(%arg42, %arg42) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %233 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %234 = "stablehlo.select"(%232, %233, %231) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %235 = "stablehlo.compare"(%227, %234) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %236 = "stablehlo.compare"(%213, %220) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %237 = "stablehlo.compare"(%213, %220) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %238 = "stablehlo.and"(%237, %235) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %239 = "stablehlo.or"(%236, %238) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%239) : (tensor<i1>) -> ()
    }) : (tensor<7x7xf64>, tensor<7x7xf64>) -> (tensor<7x7xf64>, tensor<7x7xf64>)
    %203 = "func.call"(%arg38) <{callee = @median}> : (tensor<7x7xf64>) -> tensor<f64>
    %204 = "func.call"(%arg38) <{callee = @sort_2}> : (tensor<7x7xf64>) -> tensor<7x7xf64>
    %205 = "stablehlo.constant"() <{value = dense<3.000000e+01> : tensor<f64>}> : () -> tensor<f64>
    %206 = "func.call"(%arg38, %205) <{callee = @percentile}> : (tensor<7x7xf64>, tensor<f64>) -> tensor<f64>
    "func.return"(%196, %197, %198, %200, %201#0, %201#1, %202#0, %202#1, %203, %204, %206) : (tensor<7x7xf64>, tensor<7x7xf64>, tensor<7x7xi64>, tensor<7x7xi64>, tensor<7x7xf64>, tensor<7x7xf64>, tensor<7x7xf64>, tensor<7x7xf64>, tensor<f64>, tensor<7x7xf64>, tensor<f64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<7x7xf64>) -> tensor<7x7xf64>, res_attrs = [{}], sym_name = "sort", sym_visibility = "private"}> ({
  ^bb0(%arg34: tensor<7x7xf64>):
    %180 = "stablehlo.sort"(%arg34) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg35: tensor<f64>, %arg36: tensor<f64>):
      %181 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %182 = "stablehlo.compare"(%arg35, %181) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %183 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %184 = "stablehlo.select"(%182, %183, %arg35) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %185 = "stablehlo.compare"(%arg35, %arg35) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %186 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %187 = "stablehlo.select"(%185, %186, %184) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %188 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %189 = "stablehlo.compare"(%arg36, %188) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %190 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %191 = "stablehlo.select"(%189, %190, %arg36) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %192 = "stablehlo.compare"(%arg36, %arg36) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %193 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %194 = "stablehlo.select"(%192, %193, %191) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %195 = "stablehlo.compare"(%187, %194) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%195) : (tensor<i1>) -> ()
    }) : (tensor<7x7xf64>) -> tensor<7x7xf64>
    "func.return"(%180) : (tensor<7x7xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<7x7xf64>) -> tensor<7x7xf64>, res_attrs = [{}], sym_name = "sort_0", sym_visibility = "private"}> ({
  ^bb0(%arg31: tensor<7x7xf64>):
    %164 = "stablehlo.sort"(%arg31) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg32: tensor<f64>, %arg33: tensor<f64>):
      %165 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %166 = "stablehlo.compare"(%arg32, %165) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %167 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %168 = "stablehlo.select"(%166, %167, %arg32) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %169 = "stablehlo.compare"(%arg32, %arg32) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %170 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %171 = "stablehlo.select"(%169, %170, %168) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %172 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %173 = "stablehlo.compare"(%arg33, %172) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %174 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %175 = "stablehlo.select"(%173, %174, %arg33) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %176 = "stablehlo.compare"(%arg33, %arg33) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %177 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %178 = "stablehlo.select"(%176, %177, %175) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %179 = "stablehlo.compare"(%171, %178) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%179) : (tensor<i1>) -> ()
    }) : (tensor<7x7xf64>) -> tensor<7x7xf64>
    "func.return"(%164) : (tensor<7x7xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<7x7xf64>) -> tensor<7x7xi64>, res_attrs = [{}], sym_name = "argsort", sym_visibility = "private"}> ({
  ^bb0(%arg26: tensor<7x7xf64>):
    %147 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<7x7xi64>
    %148:2 = "stablehlo.sort"(%arg26, %147) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg27: tensor<f64>, %arg28: tensor<f64>, %arg29: tensor<i64>, %arg30: tensor<i64>):
      %149 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %150 = "stablehlo.compare"(%arg27, %149) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %151 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %152 = "stablehlo.select"(%150, %151, %arg27) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %153 = "stablehlo.compare"(%arg27, %arg27) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %154 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %155 = "stablehlo.select"(%153, %154, %152) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %156 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %157 = "stablehlo.compare"(%arg28, %156) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %158 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %159 = "stablehlo.select"(%157, %158, %arg28) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %160 = "stablehlo.compare"(%arg28, %arg28) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %161 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %162 = "stablehlo.select"(%160, %161, %159) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %163 = "stablehlo.compare"(%155, %162) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%163) : (tensor<i1>) -> ()
    }) : (tensor<7x7xf64>, tensor<7x7xi64>) -> (tensor<7x7xf64>, tensor<7x7xi64>)
    "func.return"(%148#1) : (tensor<7x7xi64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<7x7xf64>) -> tensor<7x7xi64>, res_attrs = [{}], sym_name = "argsort_1", sym_visibility = "private"}> ({
  ^bb0(%arg21: tensor<7x7xf64>):
    %130 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<7x7xi64>
    %131:2 = "stablehlo.sort"(%arg21, %130) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg22: tensor<f64>, %arg23: tensor<f64>, %arg24: tensor<i64>, %arg25: tensor<i64>):
      %132 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %133 = "stablehlo.compare"(%arg22, %132) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %134 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %135 = "stablehlo.select"(%133, %134, %arg22) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %136 = "stablehlo.compare"(%arg22, %arg22) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %137 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %138 = "stablehlo.select"(%136, %137, %135) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %139 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %140 = "stablehlo.compare"(%arg23, %139) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %141 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %142 = "stablehlo.select"(%140, %141, %arg23) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %143 = "stablehlo.compare"(%arg23, %arg23) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %144 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %145 = "stablehlo.select"(%143, %144, %142) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %146 = "stablehlo.compare"(%138, %145) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%146) : (tensor<i1>) -> ()
    }) : (tensor<7x7xf64>, tensor<7x7xi64>) -> (tensor<7x7xf64>, tensor<7x7xi64>)
    "func.return"(%131#1) : (tensor<7x7xi64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<7x7xf64>) -> tensor<f64>, res_attrs = [{}], sym_name = "median", sym_visibility = "private"}> ({
  ^bb0(%arg20: tensor<7x7xf64>):
    %128 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f64>}> : () -> tensor<f64>
    %129 = "func.call"(%arg20, %128) <{callee = @quantile}> : (tensor<7x7xf64>, tensor<f64>) -> tensor<f64>
    "func.return"(%129) : (tensor<f64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<7x7xf64>, tensor<f64>) -> tensor<f64>, res_attrs = [{}], sym_name = "quantile", sym_visibility = "private"}> ({
  ^bb0(%arg14: tensor<7x7xf64>, %arg15: tensor<f64>):
    %76 = "stablehlo.reshape"(%arg14) : (tensor<7x7xf64>) -> tensor<49xf64>
    %77 = "stablehlo.compare"(%76, %76) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<49xf64>, tensor<49xf64>) -> tensor<49xi1>
    %78 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %79 = "stablehlo.reduce"(%77, %78) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg18: tensor<i1>, %arg19: tensor<i1>):
      %127 = "stablehlo.or"(%arg18, %arg19) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%127) : (tensor<i1>) -> ()
    }) : (tensor<49xi1>, tensor<i1>) -> tensor<i1>
    %80 = "stablehlo.broadcast_in_dim"(%79) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<1xi1>
    %81 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %82 = "func.call"(%80, %81, %76) <{callee = @_where}> : (tensor<1xi1>, tensor<f64>, tensor<49xf64>) -> tensor<49xf64>
    %83 = "stablehlo.sort"(%82) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg16: tensor<f64>, %arg17: tensor<f64>):
      %112 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %113 = "stablehlo.compare"(%arg16, %112) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %114 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %115 = "stablehlo.select"(%113, %114, %arg16) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %116 = "stablehlo.compare"(%arg16, %arg16) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %117 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %118 = "stablehlo.select"(%116, %117, %115) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %119 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %120 = "stablehlo.compare"(%arg17, %119) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %121 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %122 = "stablehlo.select"(%120, %121, %arg17) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %123 = "stablehlo.compare"(%arg17, %arg17) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %124 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %125 = "stablehlo.select"(%123, %124, %122) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %126 = "stablehlo.compare"(%118, %125) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%126) : (tensor<i1>) -> ()
    }) : (tensor<49xf64>) -> tensor<49xf64>
    %84 = "stablehlo.constant"() <{value = dense<4.900000e+01> : tensor<f64>}> : () -> tensor<f64>
    %85 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %86 = "stablehlo.subtract"(%84, %85) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %87 = "stablehlo.multiply"(%arg15, %86) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %88 = "stablehlo.floor"(%87) : (tensor<f64>) -> tensor<f64>
    %89 = "stablehlo.ceil"(%87) : (tensor<f64>) -> tensor<f64>
    %90 = "stablehlo.subtract"(%87, %88) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %91 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %92 = "stablehlo.subtract"(%91, %90) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %93 = "stablehlo.constant"() <{value = dense<4.900000e+01> : tensor<f64>}> : () -> tensor<f64>
    %94 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %95 = "stablehlo.subtract"(%93, %94) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %96 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %97 = "stablehlo.clamp"(%96, %88, %95) : (tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
    %98 = "stablehlo.constant"() <{value = dense<4.900000e+01> : tensor<f64>}> : () -> tensor<f64>
    %99 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %100 = "stablehlo.subtract"(%98, %99) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %101 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %102 = "stablehlo.clamp"(%101, %89, %100) : (tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
    %103 = "stablehlo.convert"(%97) : (tensor<f64>) -> tensor<i64>
    %104 = "stablehlo.convert"(%102) : (tensor<f64>) -> tensor<i64>
    %105 = "stablehlo.broadcast_in_dim"(%103) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<1xi64>
    %106 = "stablehlo.gather"(%83, %105) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0]>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<49xf64>, tensor<1xi64>) -> tensor<f64>
    %107 = "stablehlo.broadcast_in_dim"(%104) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<1xi64>
    %108 = "stablehlo.gather"(%83, %107) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0]>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<49xf64>, tensor<1xi64>) -> tensor<f64>
    %109 = "stablehlo.add"(%106, %108) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %110 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f64>}> : () -> tensor<f64>
    %111 = "stablehlo.multiply"(%109, %110) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    "func.return"(%111) : (tensor<f64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<1xi1>, tensor<f64>, tensor<49xf64>) -> tensor<49xf64>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg11: tensor<1xi1>, %arg12: tensor<f64>, %arg13: tensor<49xf64>):
    %72 = "stablehlo.convert"(%arg12) : (tensor<f64>) -> tensor<f64>
    %73 = "stablehlo.broadcast_in_dim"(%arg11) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xi1>) -> tensor<49xi1>
    %74 = "stablehlo.broadcast_in_dim"(%72) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<49xf64>
    %75 = "stablehlo.select"(%73, %74, %arg13) : (tensor<49xi1>, tensor<49xf64>, tensor<49xf64>) -> tensor<49xf64>
    "func.return"(%75) : (tensor<49xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<7x7xf64>) -> tensor<7x7xf64>, res_attrs = [{}], sym_name = "sort_2", sym_visibility = "private"}> ({
  ^bb0(%arg8: tensor<7x7xf64>):
    %55 = "stablehlo.sort"(%arg8) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg9: tensor<f64>, %arg10: tensor<f64>):
      %57 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %58 = "stablehlo.compare"(%arg9, %57) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %59 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %60 = "stablehlo.select"(%58, %59, %arg9) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %61 = "stablehlo.compare"(%arg9, %arg9) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %62 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %63 = "stablehlo.select"(%61, %62, %60) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %64 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %65 = "stablehlo.compare"(%arg10, %64) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %66 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %67 = "stablehlo.select"(%65, %66, %arg10) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %68 = "stablehlo.compare"(%arg10, %arg10) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %69 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %70 = "stablehlo.select"(%68, %69, %67) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %71 = "stablehlo.compare"(%63, %70) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%71) : (tensor<i1>) -> ()
    }) : (tensor<7x7xf64>) -> tensor<7x7xf64>
    %56 = "stablehlo.reverse"(%55) <{dimensions = array<i64: 0>}> : (tensor<7x7xf64>) -> tensor<7x7xf64>
    "func.return"(%56) : (tensor<7x7xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<7x7xf64>, tensor<f64>) -> tensor<f64>, res_attrs = [{}], sym_name = "percentile", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<7x7xf64>, %arg7: tensor<f64>):
    %52 = "stablehlo.constant"() <{value = dense<1.000000e+02> : tensor<f64>}> : () -> tensor<f64>
    %53 = "stablehlo.divide"(%arg7, %52) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %54 = "func.call"(%arg6, %53) <{callee = @quantile_3}> : (tensor<7x7xf64>, tensor<f64>) -> tensor<f64>
    "func.return"(%54) : (tensor<f64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<7x7xf64>, tensor<f64>) -> tensor<f64>, res_attrs = [{}], sym_name = "quantile_3", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<7x7xf64>, %arg1: tensor<f64>):
    %0 = "stablehlo.reshape"(%arg0) : (tensor<7x7xf64>) -> tensor<49xf64>
    %1 = "stablehlo.compare"(%0, %0) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<49xf64>, tensor<49xf64>) -> tensor<49xi1>
    %2 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %3 = "stablehlo.reduce"(%1, %2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg4: tensor<i1>, %arg5: tensor<i1>):
      %51 = "stablehlo.or"(%arg4, %arg5) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%51) : (tensor<i1>) -> ()
    }) : (tensor<49xi1>, tensor<i1>) -> tensor<i1>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<1xi1>
    %5 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
    %6 = "func.call"(%4, %5, %0) <{callee = @_where}> : (tensor<1xi1>, tensor<f64>, tensor<49xf64>) -> tensor<49xf64>
    %7 = "stablehlo.sort"(%6) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %36 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %37 = "stablehlo.compare"(%arg2, %36) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %38 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %39 = "stablehlo.select"(%37, %38, %arg2) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %40 = "stablehlo.compare"(%arg2, %arg2) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %41 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %42 = "stablehlo.select"(%40, %41, %39) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %43 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %44 = "stablehlo.compare"(%arg3, %43) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %45 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
      %46 = "stablehlo.select"(%44, %45, %arg3) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %47 = "stablehlo.compare"(%arg3, %arg3) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %48 = "stablehlo.constant"() <{value = dense<0x7FF8000000000000> : tensor<f64>}> : () -> tensor<f64>
      %49 = "stablehlo.select"(%47, %48, %46) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %50 = "stablehlo.compare"(%42, %49) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%50) : (tensor<i1>) -> ()
    }) : (tensor<49xf64>) -> tensor<49xf64>
    %8 = "stablehlo.constant"() <{value = dense<4.900000e+01> : tensor<f64>}> : () -> tensor<f64>
    %9 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %10 = "stablehlo.subtract"(%8, %9) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %11 = "stablehlo.multiply"(%arg1, %10) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %12 = "stablehlo.floor"(%11) : (tensor<f64>) -> tensor<f64>
    %13 = "stablehlo.ceil"(%11) : (tensor<f64>) -> tensor<f64>
    %14 = "stablehlo.subtract"(%11, %12) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %15 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %16 = "stablehlo.subtract"(%15, %14) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %17 = "stablehlo.constant"() <{value = dense<4.900000e+01> : tensor<f64>}> : () -> tensor<f64>
    %18 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %19 = "stablehlo.subtract"(%17, %18) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %20 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %21 = "stablehlo.clamp"(%20, %12, %19) : (tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
    %22 = "stablehlo.constant"() <{value = dense<4.900000e+01> : tensor<f64>}> : () -> tensor<f64>
    %23 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %24 = "stablehlo.subtract"(%22, %23) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %25 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %26 = "stablehlo.clamp"(%25, %13, %24) : (tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
    %27 = "stablehlo.convert"(%21) : (tensor<f64>) -> tensor<i64>
    %28 = "stablehlo.convert"(%26) : (tensor<f64>) -> tensor<i64>
    %29 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<1xi64>
    %30 = "stablehlo.gather"(%7, %29) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0]>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<49xf64>, tensor<1xi64>) -> tensor<f64>
    %31 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<1xi64>
    %32 = "stablehlo.gather"(%7, %31) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0]>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<49xf64>, tensor<1xi64>) -> tensor<f64>
    %33 = "stablehlo.multiply"(%30, %16) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %34 = "stablehlo.multiply"(%32, %14) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %35 = "stablehlo.add"(%33, %34) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    "func.return"(%35) : (tensor<f64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
