-- line_states: how far lines are.
-- In      sales
-- Out     a row per line that is open: sale, salt_key, head, numbers, leaves, let_in, rate, paused
SELECT sale, salt_key, head, numbers, leaves, let_in, rate, paused FROM lines WHERE sale = ANY($1::bigint[])
