#include "partitioner/cli/command.h"

int main(int argc, char** argv) { return halograph::PartitionMain(argc, argv); }
