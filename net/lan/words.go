package lan

import "strings"

// Words are the code words of an exchange: both sides show the same, unless a third host is between them.
type Words [3]byte

// String returns the words, as in "maple tiger orbit".
func (w Words) String() string {
	return strings.Join([]string{words[w[0]], words[w[1]], words[w[2]]}, " ")
}

// words are short and sound different from each other. Their order is part of the standard.
var words = strings.Fields(`
	acorn actor agent album alley amber anchor angel apple apron arctic arrow artist aspen atlas autumn
	bacon badge baker bamboo banjo barrel basil basket beacon beetle bench berry bishop bison blanket blossom
	bonfire border bottle bridge bronze brother bucket butter button cabin cactus camel candle canyon carbon carpet
	castle cedar cello chapel cherry chess chimney cinema circle citrus clover cobalt coconut coffee comet copper
	coral cotton cousin cradle crayon cricket crystal curtain cyclone daisy dancer dawn desert diamond dinner dolphin
	donkey dragon drummer eagle easel echo eclipse elbow elephant ember emerald engine falcon farmer feather ferry
	fiddle finger flame flute forest fossil fountain freckle galaxy garden garlic gecko ginger giraffe glacier goblet
	gorilla grape gravel guitar hammer harbor harvest hazel helmet heron hockey honey hornet hotel igloo insect
	iron island ivory jacket jaguar jasmine jelly jigsaw jungle juniper kayak kernel kettle kitchen kitten koala
	ladder lagoon lantern lemon leopard library lighthouse lilac lizard lobster locket lotus magnet mango maple marble
	meadow melon mermaid meteor mirror monkey mosaic mountain muffin museum mustard napkin nectar needle nickel noodle
	nugget ocean octopus olive onion orange orbit orchid otter oxygen oyster paddle palace panda parrot peanut
	pebble pelican pencil pepper piano pigeon pillow pirate planet plum pocket poem pony potato puzzle pyramid
	quartz rabbit radio raven ribbon river robot rocket saddle salmon sandal satin saturn scarlet school shadow
	silver sister slipper snow spider spoon summer sunset tango teapot temple thunder tiger tomato trumpet tulip
	tunnel turtle umbrella valley velvet violin volcano wagon walnut water whale window winter wolf yellow zebra
`)
