-- missing_indexes: which of these indexes are not there, or not built to their end.
-- In      names
-- Out     name
-- Keeps   a plain read of the catalog
SELECT w.name FROM unnest($1::text[]) AS w (name)
LEFT JOIN pg_index x ON x.indexrelid = to_regclass(w.name)
WHERE NOT coalesce(x.indisvalid AND x.indisready, false)
