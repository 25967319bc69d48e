// halograph-train-torch: what halograph-train becomes (trainer/launch/start.h). It reads the
// command line again.
#include "trainer/launch/command_line.h"
#include "trainer/run/run.h"

int main(int argc, char** argv) {
  using namespace halograph;
  Program program(kTrainProgram, kAboutTrainProgram);
  program.CatchStopSignals();
  TrainOptions options;
  AddTrainOptions(program, &options, ProcessEnvironment());
  program.Run([&] { return RunTraining(options, *program.stop_signal()); });
  return program.Main(argc, argv);
}
