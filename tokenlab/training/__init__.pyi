from tokenlab.training.checkpoint import Evaluation as Evaluation
from tokenlab.training.loop import Learner as Learner
from tokenlab.training.loop import Update as Update
from tokenlab.training.loop import best_evaluation as best_evaluation
from tokenlab.training.loop import train as train
from tokenlab.training.options import TrainingOptions as TrainingOptions
