#include "support/validation_log_test.h"
