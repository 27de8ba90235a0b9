/** Reconciling runs every 30 s: a minute is the finest that a crontab can say, so the task adds the second half itself. */
export const CRONTAB = '* * * * * reconcile ?max=5 {"again":true}'
