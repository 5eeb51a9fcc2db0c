"""Bit-level codes: three-byte characters as a shared prefix of 6 bits and two payloads of 9 bits (Bit-level BPE).

A character that falls back to bytes costs three tokens. Here a run of such characters costs two tokens each, and one
for every change of the first six bits.
"""
