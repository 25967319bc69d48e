// halograph-train-torch: what halograph-train becomes (trainer/launch/start.h). It reads the
// command line again.
#include "common/base/kept_memory.h"
#include "trainer/launch/command_line.h"
#include "trainer/launch/infer_options.h"
#include "trainer/run/infer.h"
#include "trainer/run/run.h"

int main(int argc, char** argv) {
  using namespace halograph;
  KeepFreedMemory(kFreedBytesOfATrainer);
  Program program(kTrainProgram, kAboutTrainProgram);
  program.CatchStopSignals();
  TrainOptions options;
  InferOptions infer;
  AddTrainCommands(program, &options, &infer, ProcessEnvironment(), [&](TrainCommand command) {
    if (command == TrainCommand::kTrain) return RunTraining(options, *program.stop_signal());
    return RunInference(command, options, infer, *program.stop_signal());
  });
  return program.Main(argc, argv);
}
