"""What others decide about pods: koord-descheduler, migrations, Volcano."""
