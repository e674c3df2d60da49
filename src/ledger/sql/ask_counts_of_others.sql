-- ask_counts_of_others: how requests for orders of a sale were answered by all processes but one, added up.
-- In      sale, process
-- Out     one row: since (NULL: none was asked), asked, limited, sold_out, refused
SELECT min(since) AS since, coalesce(sum(asked), 0)::bigint AS asked, coalesce(sum(limited), 0)::bigint AS limited,
       coalesce(sum(sold_out), 0)::bigint AS sold_out, coalesce(sum(refused), 0)::bigint AS refused
FROM ask_counts WHERE sale = $1 AND process <> $2
