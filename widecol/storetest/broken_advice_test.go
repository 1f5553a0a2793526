package storetest

import "github.com/colonnade-db/colonnade/widecol"

// adviceBugs are bugs of stores that give advice.
var adviceBugs = []bug{
	{"advice to move to a group that is not there", true, true, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			a.Moves = []widecol.AdvisedMove{{Family: "a", Place: "nowhere", SavesBytes: 1}}
		}
	}},
	{"advice to move to where the family is", true, true, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			a.Moves = []widecol.AdvisedMove{{Family: "a", Place: a.Families[0].Place, SavesBytes: 1}}
		}
	}},
	{"advice to move a family twice", true, true, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			m := widecol.AdvisedMove{Family: "a", Place: widecol.NewGroup, SavesBytes: 1}
			a.Moves = []widecol.AdvisedMove{m, m}
		}
	}},
	{"advice to move what saves nothing", true, true, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			a.Moves = []widecol.AdvisedMove{{Family: "a", Place: widecol.NewGroup}}
		}
	}},
	{"advice lacks a family", true, true, func(b *broken) {
		b.advise = func(a *widecol.Advice) { a.Families = a.Families[1:] }
	}},
	{"more is stepped over than read", true, true, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			a.Queries = []widecol.QueryCosts{{Families: []string{"a"}, Queries: 1, BytesRead: 1, BytesOver: 2}}
		}
	}},
	{"queries of one family count as those of all", true, true, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			a.Queries = []widecol.QueryCosts{{Families: []string{"a", "b", "c"}, Queries: 1, BytesRead: 1}}
		}
	}},
	{"advice counts from the time when it is asked for", true, false, func(b *broken) {
		b.advise = func(a *widecol.Advice) { a.Since = b.env.Now() }
	}},
	{"asking for advice counts as a query", false, true, func(b *broken) {
		asked := int64(0)
		b.advise = func(a *widecol.Advice) { a.Others, asked = asked, asked+1 }
	}},
	{"a family without cells has bytes", false, true, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			for i := range a.Families {
				a.Families[i].Bytes++
			}
		}
	}},
	{"an advised move saves more than was read", false, true, func(b *broken) {
		b.advise = func(a *widecol.Advice) {
			f := a.Families[0]
			a.Queries = []widecol.QueryCosts{{Queries: 1, BytesRead: 10, BytesOver: 10}}
			a.Moves = []widecol.AdvisedMove{{Family: f.Family, Place: widecol.NewGroup, SavesBytes: 100, Bytes: f.Bytes}}
		}
	}},
}
