/* A profiler for ITT that prints the names of tasks as they begin, each behind
   one "-" for every task around it. */

#include <stdio.h>
#include <string.h>

typedef struct {
  int flags;
} Domain;
typedef struct {
  unsigned long long parts[3];
} Id;

static Domain domain = {1};
static int depth = 0;

Domain *__itt_domain_create(const char *name) {
  return strcmp(name, "remat") == 0 ? &domain : NULL;
}
const char *__itt_string_handle_create(const char *name) {
  return strdup(name);
}
void __itt_task_begin(const Domain *in, Id task, Id parent, const char *name) {
  for (int i = 0; i < depth; ++i)
    putc('-', stderr);
  fprintf(stderr, "%s\n", name);
  ++depth;
}
void __itt_task_end(const Domain *in) { --depth; }
