// How PostgreSQL is: its version and settings, what our user may do there, the schema, connections, space and clock.

import { catalogueDifferences } from '../../../db/catalogue.ts'
import type { Db } from '../../../db/client.ts'
import { missingColumns, readClockMs, readConnections, readServer, tryDisk } from '../../../db/queries/server.ts'
import { databaseTrouble } from '../../../db/trouble.ts'
import { sessionTrouble } from '../../platform/environment/database.ts'
import { describeDatabaseFailure } from '../../platform/environment/failure.ts'
import { type Finding, findingsOf } from './finding.ts'
import { clockFindings, connectionFindings, type Judged, serverFindings } from './judge.ts'

export type Checked = Judged & { readonly db: Db }

const ofServer = async ({ db, config, role }: Checked): Promise<readonly Finding[]> =>
  serverFindings(await readServer(db, role), { config, role })

const ofSession = async ({ db }: Checked): Promise<readonly Finding[]> => {
  const { ok, failed } = findingsOf('database session')
  const trouble = await sessionTrouble(db)
  if (trouble === null) return [ok('it is one of PostgreSQL, with the limits of this service')]
  return [failed(trouble, 'Correct DATABASE_URL: no process starts with this one.')]
}

const ofSchema = async ({ db }: Checked): Promise<readonly Finding[]> => {
  const { ok, failed } = findingsOf('database schema')
  const missing = await missingColumns(db)
  if (missing.length === 0) return [ok('it is the one of this version')]
  const found =
    missing.length > 3 ? `${missing.slice(0, 3).join(', ')} and ${missing.length - 3} more` : missing.join(', ')
  return [failed(`it lacks ${found}`, 'Run "bun run cli db migrate" with this version.')]
}

const NAMED_MAX = 10

const ofCatalogue = async ({ db }: Checked): Promise<readonly Finding[]> => {
  const { ok, failed } = findingsOf('database catalogue')
  const differences = await catalogueDifferences(db)
  if (differences.length === 0) return [ok('it is what the migrations make')]
  const named = differences
    .slice(0, NAMED_MAX)
    .map(({ found, concernsVault }) =>
      failed(
        found,
        `${concernsVault ? 'Vaults open no key meanwhile. ' : ''}Find out who did that, drop what was added, and run "bun run cli db migrate" ("The catalogue of the database" in docs/custody.md).`,
      ),
    )
  const more = differences.length - named.length
  return more === 0 ? named : [...named, failed(`${more} more differences`, 'Correct those above first.')]
}

const ofConnections = async ({ db }: Checked): Promise<readonly Finding[]> =>
  connectionFindings(await readConnections(db))

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
  // The first question opens the connection.
  await readClockMs(db)
  const before = Date.now()
  const there = await readClockMs(db)
  const after = Date.now()
  // It was read between the two.
  return clockFindings(Math.max(0, before - there, there - after))
}

/** Runs each check, also if one before it failed. */
export const checkDatabase = async (checked: Checked): Promise<readonly Finding[]> => {
  const findings: Finding[] = []
  for (const check of [ofSession, ofServer, ofSchema, ofCatalogue, ofConnections, ofSpace, ofClock]) {
    try {
      findings.push(...(await check(checked)))
    } catch (error) {
      const finding = findingsOf('database').failed(describeDatabaseFailure(error), 'Correct that, and run it again.')
      // A connection that is refused is refused to each of them.
      if (!findings.some(({ found }) => found === finding.found)) findings.push(finding)
      // Each of the other checks would fail in the same way.
      if (databaseTrouble(error) === 'away') return findings
    }
  }
  return findings
}
