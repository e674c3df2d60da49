-- note_troubles: what this process sees to be wrong (functions/note_troubles.sql).
-- In      seen (JSON array of {key, told, trouble}), quiet and repeat time in ms, may it decide that a trouble is over
-- Out     nothing that counts
SELECT note_troubles($1::jsonb, $2, $3, $4)
