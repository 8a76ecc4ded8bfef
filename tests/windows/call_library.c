/* SPDX-License-Identifier: MIT
 * Describes a model through the C interface of quarkq.dll: prints the exit code and the name of the graph's file. */
#include <stdio.h>
#include <string.h>

#include "quarkq/c_api.h"

int main(int count, char** arguments) {
  char request[4096];
  quarkq_call_arguments call;
  quarkq_result* result;
  if (count != 2) return 2;
  snprintf(request, sizeof request, "{\"model\": \"%s\"}", arguments[1]);
  memset(&call, 0, sizeof call);
  call.size = sizeof call;
  call.verb = "inspect";
  call.request = request;
  result = quarkq_call(&call);
  printf("%d %s %s\n", quarkq_exit_code(result), strstr(quarkq_report(result), "digits") != NULL ? "digits" : "?",
         quarkq_message(result));
  quarkq_free(result);
  return 0;
}
