// Tests with each instruction set that this processor has.
#pragma once

#include "tests/support/every_target.h"
