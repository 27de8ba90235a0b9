// Whether logins could be given away by a page that redirects (src/identity/auth/return-addresses.ts).

import type { Db } from '../../../db/client.ts'
import { listProjectsWithoutReturnAddresses } from '../../../db/queries/doctor.ts'
import type { Config } from '../../platform/config.ts'
import { type Finding, findingsOf } from './finding.ts'

const NAMED_MAX = 3

/** Looks for projects whose users may return to any page of an allowed origin. */
export const checkReturnAddresses = async ({
  config,
  db,
}: {
  readonly config: Pick<Config, 'environment'>
  readonly db: Db
}): Promise<readonly Finding[]> => {
  const { ok, warning } = findingsOf('return addresses')
  if (config.environment === 'mainnet') return [ok('users return only to addresses in the list of their project')]
  const without = await listProjectsWithoutReturnAddresses(db)
  if (without.length === 0) return [ok('each project with allowed origins has some')]
  const named = without.slice(0, NAMED_MAX).join(', ')
  const more = without.length > NAMED_MAX ? ` and ${without.length - NAMED_MAX} more` : ''
  return [
    warning(
      `users of ${named}${more} may return from the login page to any page of an allowed origin`,
      'A page there that redirects to where its address says would give their logins away. List the addresses that the app uses: "bun run cli project return-addresses add <project> <address>" ("Return addresses" in docs/users.md). On mainnet nobody is sent back without.',
    ),
  ]
}
