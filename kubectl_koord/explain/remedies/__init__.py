"""Changes that may let a gang start, one family per function; each is yielded only if the engine then says yes."""
