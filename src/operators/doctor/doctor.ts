// Checks an installation as its processes find it: `cli doctor`, and a page of the console. It changes nothing.

import type { Db, HasDb, Queryable } from '../../../db/client.ts'
import { listProjectsWithoutReturnAddresses, readNewestCheckpoint } from '../../../db/queries/server.ts'
import type { Chains } from '../../chains/chains.ts'
import type { Mailer } from '../../identity/mail/mailer.ts'
import type { Config, HasConfig } from '../../platform/config.ts'
import { sentenceOf } from '../../platform/environment/failure.ts'
import { isPrivate } from '../../platform/environment/hosts.ts'
import { type Checked, checkDatabase } from './database.ts'
import { type Finding, findingsOf } from './finding.ts'
import { checkCertificates, checkJournals, checkKeys, checkVaults } from './keys.ts'
import { checkNodes, checkWorkers } from './nodes.ts'

// Whether logins could be given away by a page that redirects (src/identity/auth/return-addresses.ts).

const NAMED_MAX = 3

/** Looks for projects whose users may return to any page of an allowed origin. */
const checkReturnAddresses = async ({
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

// Whether the audit is still archived, where somebody has begun to archive it.

/** A quarter: `audit archive` leaves the rows of the last 30 days. */
const AGE_WARNING_DAYS = 92

/** Looks at the newest checkpoint. The files of the archive are elsewhere: `audit verify --archive` checks them. */
const checkArchive = async (db: Queryable): Promise<readonly Finding[]> => {
  const { ok, warning, unchecked } = findingsOf('audit archive')
  const newest = await readNewestCheckpoint(db)
  if (newest === null) return [unchecked('no audit row was archived yet')]
  const found = `the newest checkpoint is of ${newest.createdAt}, for rows before ${newest.before}`
  if (newest.ageDays <= AGE_WARNING_DAYS) return [ok(found)]
  return [
    warning(
      found,
      'Run "bun run cli audit archive" again, or let the job that runs it say when it fails: until then the audit grows in the database.',
    ),
  ]
}

export type Examined = HasConfig &
  HasDb &
  Pick<Checked, 'role'> & {
    readonly chains: Chains
    readonly mailer: Mailer | null
  }

const checkVariables = ({ environment, publicBaseUrl, unknownVariables, networks }: Config): readonly Finding[] => {
  const variables = findingsOf('variables')
  const url = findingsOf('PUBLIC_BASE_URL')
  return [
    variables.ok(`they can be read: ${environment}, ${networks.length} networks`),
    ...unknownVariables.map((name) =>
      variables.warning(`${name} is not a variable of this service`, 'Correct its name: it is ignored.'),
    ),
    isPrivate(new URL(publicBaseUrl).hostname)
      ? url.warning(
          `${publicBaseUrl} is of this machine or of a private network`,
          'Set it to the URL by which users reach the API: it stands in mails and, for good, in the metadata of tokens.',
        )
      : url.ok(publicBaseUrl),
  ]
}

const checkMail = async ({ config, mailer }: Examined): Promise<readonly Finding[]> => {
  const { ok, failed, unchecked } = findingsOf('mail')
  if (mailer === null) return [unchecked('MAIL_URL is not set here: no mail is sent')]
  const refusal = await mailer.tryServer()
  if (refusal === null) return [ok(`the server accepts the login, and mails come from ${config.mailFrom}`)]
  return [
    failed(
      `the server cannot be used (${refusal.reason})`,
      'Correct MAIL_URL, or let this machine reach the server: nobody can log in by mail.',
    ),
  ]
}

/** Runs all checks, each also if others fail. */
export const examine = async (examined: Examined): Promise<readonly Finding[]> => {
  const { config, db, role } = examined
  const readsWorkers = role === 'strongroom_api' || role === 'strongroom_console'
  const database = await checkDatabase(examined)
  const isAway = database.some(({ check, state }) => check === 'database' && state === 'failed')
  const onDatabase = async (name: string, check: () => Promise<readonly Finding[]>) => {
    if (isAway) return [findingsOf(name).unchecked('the database cannot be used')]
    return check().catch((error: unknown) => [
      findingsOf(name).failed(sentenceOf(error), 'Correct that, and run it again.'),
    ])
  }
  const rest = await Promise.all([
    onDatabase('keys', () => checkKeys(examined)),
    checkVaults(config),
    checkCertificates(config),
    checkJournals(config),
    readsWorkers
      ? onDatabase('workers', () => checkWorkers(examined))
      : [
          findingsOf('workers').unchecked(
            `the role ${role} does not read who works: run this with the variables of an API`,
          ),
        ],
    role === 'strongroom_worker' ? [] : onDatabase('audit archive', () => checkArchive(db)),
    role === 'strongroom_vault' ? [] : onDatabase('return addresses', () => checkReturnAddresses(examined)),
    checkNodes(examined),
    checkMail(examined),
  ])
  return [...checkVariables(config), ...database, ...rest.flat()]
}
