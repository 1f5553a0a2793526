package main

import "log/slog"

// reload reads the file of options again, and logs what came of it.
func (o *serveOptions) reload(log *slog.Logger) {
	if o.config.Path() == "" {
		return
	}
	changes, err := o.config.Reload()
	if err != nil {
		log.Error("the options stay as they are, because the file is wrong", "cause", err)
		return
	}
	log.Info("options were read again", "file", o.config.Path())
	for _, c := range changes {
		if c.Applied {
			log.Info("an option has changed", "option", c.Name, "from", c.Old, "to", c.New)
		} else {
			log.Warn("a change of an option waits for a restart", "option", c.Name, "from", c.Old, "to", c.New)
		}
	}
}
