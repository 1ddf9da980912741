/* Plans an instance without IR: a chain whose values do not all fit. */
#include "remat-c/Remat.h"

#include <stdio.h>
#include <string.h>

static const char chain[] =
    "{\"name\": \"chain\", \"outputs\": [4], \"edges\": [[0, 1], [1, 2], [2, "
    "3], "
    "[0, 3], [3, 4], [1, 4]], \"nodes\": ["
    "{\"id\": 0, \"name\": \"a\", \"cost\": 1, \"size\": 100},"
    "{\"id\": 1, \"name\": \"b\", \"cost\": 1, \"size\": 10},"
    "{\"id\": 2, \"name\": \"c\", \"cost\": 1, \"size\": 100},"
    "{\"id\": 3, \"name\": \"d\", \"cost\": 1, \"size\": 10, \"backward\": "
    "true},"
    "{\"id\": 4, \"name\": \"e\", \"cost\": 1, \"size\": 10, \"backward\": "
    "true}]}";

static RematStatus plan(RematContext context, const char *text,
                        const char *budget) {
  RematOptions options = rematOptionsCreate(context);
  RematBytes json;
  RematStatus status = rematOptionsSet(options, "budget", budget);
  if (status == REMAT_STATUS_OK)
    status = rematInstancePlan(options, text, strlen(text), &json);
  if (status == REMAT_STATUS_OK)
    printf("%s: %s\n", budget, json.data);
  else
    printf("%s: %s: %s\n", budget, rematStatusGetName(status),
           rematContextGetError(context));
  rematBytesFree(&json);
  rematOptionsDestroy(options);
  return status;
}

int main(void) {
  RematContext context = rematContextCreate();
  RematOptions none = {NULL};
  RematBytes json;
  plan(context, chain, "100%");
  plan(context, chain, "min");
  if (plan(context, chain, "50") == REMAT_STATUS_INFEASIBLE_BUDGET)
    printf("smallest %d\n", (int)rematContextGetSmallestBudget(context));
  plan(context, "{\"name\": 1}", "100%");
  plan(context, "nothing", "100%");
  printf("null: %s\n",
         rematStatusGetName(rematInstancePlan(none, chain, 1, &json)));
  rematContextDestroy(context);
  return 0;
}
