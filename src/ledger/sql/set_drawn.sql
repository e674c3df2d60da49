-- set_drawn: a draw is made: from now on its seed is shown.
-- In      sale
-- Out     one row if this call made it
-- Keeps   sealed, and with its beacon if one was named; once
UPDATE line_draws SET drawn_at = clock_timestamp()
WHERE sale = $1 AND drawn_at IS NULL AND sealed_at IS NOT NULL AND (beacon_source IS NULL OR beacon_value IS NOT NULL)
RETURNING sale
