// Moved to trainer/blocks.
#pragma once

#include "trainer/blocks/block_transpose.h"
