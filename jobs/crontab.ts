export const CRONTAB = [
  // Every 30 s: a minute is the finest that a crontab can say, so the task adds the second half itself.
  '* * * * * reconcile ?max=5 {"again":true}',
  '17 * * * * drop_idempotency_keys',
  '41 * * * * clean_logins',
  '* * * * * compact_counts ?jobKey=compact_counts',
].join('\n')
