package labpage

import "embed"

var web embed.FS // empty: an exported page has its files beside the program
