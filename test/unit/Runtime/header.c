/* The runtime's header in C: it must compile as C99. */
#include "remat/Runtime/Runtime.h"

remat_status loadNothing(remat_step **step) {
  remat_module module = {
      REMAT_STEP_TABLE_VERSION, NULL, 0, NULL, 0, NULL, NULL};
  return remat_step_load(&module, NULL, step);
}
