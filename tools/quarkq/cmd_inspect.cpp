#include "verb.h"
namespace quarkq::tool { Run setup_inspect(CLI::App&) { return [] { return internal_error("not yet"); }; } }
