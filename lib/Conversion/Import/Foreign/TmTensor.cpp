#include "Lowering.h"
using namespace remat;
void foreign::addTmTensor(LoweringTable &table) {}
