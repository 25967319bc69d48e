// Moved to trainer/blocks.
#pragma once

#include "trainer/blocks/gather_rows.h"
