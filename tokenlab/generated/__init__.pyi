from tokenlab.generated.corpora import LANGUAGES as LANGUAGES
from tokenlab.generated.corpora import express as express
from tokenlab.generated.corpora import generate as generate
