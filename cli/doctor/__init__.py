"""What `cpt doctor` looks at; nothing here changes anything."""
