"""Corpora: readers, sentences, random splits and storage, independent of methods."""
