// How PostgreSQL is: its version and settings, what our user may do there, the schema, connections, space and clock.

import type { Db } from '../../db/client.ts'
import { readConnections } from '../../db/queries/connections.ts'
import { readClockMs, readServer } from '../../db/queries/doctor.ts'
import { missingColumns } from '../../db/queries/schema-fit.ts'
import { tryDisk } from '../../db/queries/space.ts'
import { databaseTrouble } from '../../db/trouble.ts'
import type { Config } from '../config.ts'
import { databaseSentenceOf } from '../environment/failure.ts'
import { type Finding, findingsOf } from './finding.ts'

const VERSION_MIN = 15
/** An API, a worker and a vault, as they are by default. */
const FREE_CONNECTIONS_MIN = 43
const CLOCK_WARNING_MS = 1_000
/** Access tokens, nonces and one-time codes would seem expired, or not valid yet. */
const CLOCK_FAILED_MS = 30_000

export type Checked = {
  readonly db: Db
  readonly config: Pick<Config, 'environment' | 'devnet'>
  /** The role that the login should have. */
  readonly role: 'strongroom_vault' | 'strongroom_api' | 'strongroom_worker' | 'strongroom_console'
}

const ofServer = async ({ db, config, role }: Checked): Promise<readonly Finding[]> => {
  const server = await readServer(db, role)
  const major = Math.floor(server.version / 10_000)
  const version = findingsOf('database version')
  const tls = findingsOf('database TLS')
  const user = findingsOf('database user')
  const settings = findingsOf('database settings')
  const isReal = config.environment === 'mainnet'
  const tooMany = [
    ...(server.isSuperuser ? ['is a superuser'] : []),
    ...(server.ownsDatabase && !server.isSuperuser ? ['owns the database'] : []),
  ]
  return [
    major >= VERSION_MIN
      ? version.ok(`PostgreSQL ${major}`)
      : version.failed(`PostgreSQL ${major}`, `Upgrade it to PostgreSQL ${VERSION_MIN} or later.`),
    server.isEncrypted || server.isOnThisMachine
      ? tls.ok(server.isEncrypted ? 'the connection is encrypted' : 'the server is on this machine')
      : tls.warning(
          'the connection to another machine is not encrypted',
          'Add ?sslmode=verify-full to DATABASE_URL, and &sslrootcert=/path for a certificate authority of your own.',
        ),
    tooMany.length > 0
      ? user.failed(
          `${server.user} ${tooMany.join(' and ')}`,
          `Use a login that is only in the role ${role}: this one may read and change what only a vault may.`,
        )
      : server.hasRole
        ? user.ok(`${server.user} has the role ${role}`)
        : user.failed(
            `${server.user} does not have the role ${role}`,
            `As the owner of the database, run: grant ${role} to "${server.user}"`,
          ),
    server.unsafeSettings.length === 0
      ? settings.ok('what is committed survives a crash')
      : (isReal ? settings.failed : settings.warning)(
          `${server.unsafeSettings.join(' and ')} off`,
          'Switch it on: after a crash of the server, transactions could be missing that were answered with success.',
        ),
    ...(isReal && !server.archives
      ? [
          settings.warning(
            'archive_mode is off',
            'Archive the write-ahead log, so that a restore loses seconds instead of a day ("Backups" in docs/backup.md).',
          ),
        ]
      : []),
  ]
}

const ofSchema = async ({ db }: Checked): Promise<readonly Finding[]> => {
  const { ok, failed } = findingsOf('database schema')
  const missing = await missingColumns(db)
  if (missing.length === 0) return [ok('it is the one of this version')]
  const found =
    missing.length > 3 ? `${missing.slice(0, 3).join(', ')} and ${missing.length - 3} more` : missing.join(', ')
  return [failed(`it lacks ${found}`, 'Run "bun run cli db migrate" with this version.')]
}

const ofConnections = async ({ db }: Checked): Promise<readonly Finding[]> => {
  const { ok, warning } = findingsOf('database connections')
  const { usable, free } = await readConnections(db)
  const found = `${free} of ${usable} are free`
  if (free >= FREE_CONNECTIONS_MIN) return [ok(found)]
  return [
    warning(
      found,
      `One more API, worker and vault take up to ${FREE_CONNECTIONS_MIN}: raise max_connections, or lower DATABASE_MAX_CONNECTIONS.`,
    ),
  ]
}

const ofSpace = async ({ db }: Checked): Promise<readonly Finding[]> => {
  const { ok, failed } = findingsOf('database space')
  try {
    await tryDisk(db)
    return [ok('a megabyte could be written')]
  } catch (error) {
    if (databaseTrouble(error) !== 'full') throw error
    return [failed('its disk or its memory is full', 'Make space: "A full disk" in docs/operations.md.')]
  }
}

const ofClock = async ({ db }: Checked): Promise<readonly Finding[]> => {
  const { ok, warning, failed } = findingsOf('clock')
  // The first question opens the connection.
  await readClockMs(db)
  const before = Date.now()
  const there = await readClockMs(db)
  const after = Date.now()
  // It was read between the two.
  const apartMs = Math.max(0, before - there, there - after)
  const seconds = (apartMs / 1_000).toFixed(1)
  if (apartMs <= CLOCK_WARNING_MS) return [ok('the clocks of this machine and of the database agree')]
  const found = `the clocks of this machine and of the database differ by ${seconds} s`
  const advice = 'Synchronise both by NTP, for instance with chrony.'
  return [apartMs > CLOCK_FAILED_MS ? failed(found, advice) : warning(found, advice)]
}

/** Runs each check, also if one before it failed. */
export const checkDatabase = async (checked: Checked): Promise<readonly Finding[]> => {
  const findings: Finding[] = []
  for (const check of [ofServer, ofSchema, ofConnections, ofSpace, ofClock]) {
    try {
      findings.push(...(await check(checked)))
    } catch (error) {
      const finding = findingsOf('database').failed(databaseSentenceOf(error), 'Correct that, and run it again.')
      // A connection that is refused is refused to each of them.
      if (!findings.some(({ found }) => found === finding.found)) findings.push(finding)
      // Each of the others would fail in the same way.
      if (databaseTrouble(error) === 'away') return findings
    }
  }
  return findings
}
