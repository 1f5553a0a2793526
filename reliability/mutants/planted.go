package mutants

// planted are the bugs, most of which some store has shipped once.
var planted = []mutant{
	{number: 2, bug: "the manifest is renamed before it is durable", part: "crash", edits: []edit{{
		file: "engine/install.go",
		old: `	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())`,
		new: `	_, err = f.Write(data)
	return errors.Join(err, f.Close())`,
	}}},
}
