from tokenlab.sources.catalogue import find_source as find_source
from tokenlab.sources.catalogue import load_catalogue as load_catalogue
from tokenlab.sources.catalogue import load_source as load_source
from tokenlab.sources.record import read_record as read_record
from tokenlab.sources.record import substitutes as substitutes
