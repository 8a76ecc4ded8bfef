#include "verb.h"
namespace quarkq::tool { Run setup_evaluate(CLI::App&) { return [] { return internal_error("not yet"); }; } }
