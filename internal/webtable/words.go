package webtable

// A language is the stock that titles and contents of a page are put together
// from. No word needs an escape in JSON.
type language struct {
	code  string
	words []string
}

var languages = []language{
	{"EN", []string{
		"river", "stone", "market", "early", "window", "garden", "letter", "under", "bridge", "quiet", "summer", "north",
		"harbour", "paper", "bright", "winter", "story", "against", "mountain", "kitchen", "slowly", "first", "night", "between",
	}},
	{"DE", []string{
		"Fluss", "Stein", "Markt", "früh", "Fenster", "Garten", "Brief", "unter", "Brücke", "leise", "Sommer", "Norden",
		"Hafen", "Papier", "hell", "Winter", "Geschichte", "gegen", "Gebirge", "Küche", "langsam", "zuerst", "Nacht", "zwischen",
	}},
	{"FR", []string{
		"rivière", "pierre", "marché", "tôt", "fenêtre", "jardin", "lettre", "sous", "pont", "calme", "été", "nord",
		"port", "papier", "clair", "hiver", "histoire", "contre", "montagne", "cuisine", "lentement", "premier", "nuit", "entre",
	}},
	{"ES", []string{
		"río", "piedra", "mercado", "temprano", "ventana", "jardín", "carta", "bajo", "puente", "callado", "verano", "norte",
		"puerto", "papel", "claro", "invierno", "cuento", "contra", "montaña", "cocina", "despacio", "primero", "noche", "entre",
	}},
	{"RU", []string{
		"река", "камень", "рынок", "рано", "окно", "сад", "письмо", "под", "мост", "тихо", "лето", "север",
		"порт", "бумага", "светло", "зима", "рассказ", "против", "гора", "кухня", "медленно", "первый", "ночь", "между",
	}},
	{"JA", []string{
		"川", "石", "市場", "早朝", "窓", "庭", "手紙", "下", "橋", "静か", "夏", "北",
		"港", "紙", "明るい", "冬", "物語", "対", "山", "台所", "ゆっくり", "最初", "夜", "間",
	}},
}

// The parts of a row key. Each list is sorted and its entries are of one
// length or none is a prefix of another, so that counting up through them
// counts up through the keys.
var (
	domains   = []string{"at", "com", "de", "es", "fr", "jp", "net", "org"}
	sections  = []string{"archive", "culture", "kitchen", "letters", "nature", "people", "science", "travel"}
	slugs     = []string{"bread", "cloud", "door", "fields", "island", "lamp", "orchard", "train"}
	syllables = syllableList("bdfghjklmnprst", "aeiou")
)

func syllableList(consonants, vowels string) []string {
	var list []string
	for _, c := range consonants {
		for _, v := range vowels {
			list = append(list, string(c)+string(v))
		}
	}
	return list
}

// The values of columns with few of them.
var (
	mimes    = []string{"text/html", "text/html", "text/html", "text/plain", "application/pdf"}
	statuses = []int64{200, 200, 200, 200, 200, 200, 301, 404}
)
