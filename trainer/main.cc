// halograph-train: trains, evaluates, predicts.
#include "common/program/program.h"
#include "trainer/launch/command_line.h"
#include "trainer/launch/restart.h"
#include "trainer/run/run.h"

int main(int argc, char** argv) {
  using namespace halograph;
  RestartWithBetterEnvironment(argv);
  Program program("halograph-train", "Trains a graph neural network on a partitioned graph.");
  program.set_out_of_memory_advice(
      "lower --batch-size, --eval-batch-size, --fanouts or --prefetch");
  program.CatchStopSignals();
  TrainOptions options;
  AddTrainOptions(program, &options, ProcessEnvironment());
  program.Run([&] { return RunTraining(options, *program.stop_signal()); });
  return program.Main(argc, argv);
}
