// halograph-train: trains, evaluates, predicts. Reads the command line; what trains is
// halograph-train-torch (torch_main.cc), which this program becomes.
#include "trainer/launch/command_line.h"
#include "trainer/launch/infer_options.h"
#include "trainer/launch/start.h"

int main(int argc, char** argv) {
  using namespace halograph;
  Program program(kTrainProgram, kAboutTrainProgram);
  TrainOptions options;
  InferOptions infer;
  AddTrainCommands(program, &options, &infer, ProcessEnvironment(),
                   [&](TrainCommand) { return BecomeTorchProgram(argv); });
  return program.Main(argc, argv);
}
