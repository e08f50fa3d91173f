"""The board and the files beside it: lossless readers, a surgical writer, reconciliation."""
