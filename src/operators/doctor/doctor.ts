// Checks an installation as its processes find it: `cli doctor`, and a page of the console. It changes nothing.

import type { HasDb, Queryable } from '../../../db/client.ts'
import { stalledNetworks } from '../../../db/queries/cursors.ts'
import {
  countLivingWorkers,
  listProjectsWithoutReturnAddresses,
  readNewestCheckpoint,
} from '../../../db/queries/server.ts'
import type { Chain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { NodeState, NodeUse, NodeView } from '../../chains/nodes.ts'
import type { HasMailer } from '../../identity/mail/mailer.ts'
import type { Config, HasConfig } from '../../platform/config.ts'
import { explainFailure } from '../../platform/environment/failure.ts'
import { isPrivate } from '../../platform/environment/hosts.ts'
import { variableOf } from '../../platform/networks.ts'
import { type Checked, checkDatabase } from './database.ts'
import { type Finding, findingsOf } from './finding.ts'
import { checkCertificates, checkJournals, checkKeys, checkVaults } from './keys.ts'

// How each node is, what it cannot be used for, and whether a worker follows each network.

const ADVICE: Readonly<Record<Exclude<NodeState, 'up'>, string>> = {
  behind: 'It has fewer blocks than another node: see whether it is still catching up.',
  stalled:
    'Its newest block is too old, so nothing is mined: the chain stands still, or the node is stuck or still catching up. Compare with an explorer.',
  slow: 'Its answers take longer than usual: see whether it is overloaded.',
  failing: 'Check its URL and its log: it does not answer every question.',
  wrong_chain: 'It belongs to another chain: correct the URL.',
  resting: 'It has refused for too many requests: use a larger plan, or add a second node.',
  down: 'It does not answer: check its URL, and that this machine may reach it.',
}

const missingFinding = (name: string, use: NodeUse): Finding => {
  const { warning, failed } = findingsOf(name)
  const found = `it does not have ${use.methods.join(' or ')}, for ${use.what}`
  return use.isNeeded
    ? failed(found, 'Use a node with this method.')
    : warning(found, 'Use a node with this method, or do without.')
}

const nodeFindings = (chain: Chain, node: NodeView, missing: readonly NodeUse[] | null): readonly Finding[] => {
  const name = `node ${chain.network} ${node.name}`
  const { ok, failed, warning } = findingsOf(name)
  const age = node.state === 'stalled' ? `, ${node.headAgeSeconds ?? 0} s old` : ''
  const found = `${node.state}, block ${node.height ?? '-'}${age}, ${Math.round(node.latencyMs ?? 0)} ms`
  const state =
    node.state === 'up'
      ? ok(found)
      : (node.state === 'behind' || node.state === 'slow' ? warning : failed)(found, ADVICE[node.state])
  return [state, ...(missing ?? []).map((use) => missingFinding(name, use))]
}

const ofChain = async (chain: Chain): Promise<readonly Finding[]> => {
  const views = await chain.lookAtNodes()
  const missing = await chain.missingUses()
  return views.flatMap((view) =>
    nodeFindings(chain, view, missing.find(({ name }) => name === view.name)?.missing ?? null),
  )
}

const checkNodes = async ({ config, chains }: HasConfig & HasChains): Promise<readonly Finding[]> => {
  const found = (await Promise.all(chains.all.map(ofChain))).flat()
  const without = config.networks.filter(({ network }) => !chains.all.some((chain) => chain.network === network))
  return [
    ...found,
    ...without.map(({ network }) =>
      findingsOf(`node ${network}`).unchecked(
        `no node: its requests are answered with 501 (${variableOf(network, 'RPC_URL')})`,
      ),
    ),
  ]
}

const checkWorkers = async ({ db }: HasDb): Promise<readonly Finding[]> => {
  const { ok, failed, warning } = findingsOf('workers')
  const count = await countLivingWorkers(db)
  if (count === 0) {
    return [failed('no worker runs', 'Start one: without it nothing is sent again, and no result becomes known.')]
  }
  const stalled = await stalledNetworks(db)
  return [
    ok(`${count} at work`),
    ...stalled.map((network) =>
      warning(
        `nobody has followed the blocks of ${network} for half a minute`,
        'Check the node that the worker uses, and its log ("When something is late" in docs/operations.md).',
      ),
    ),
  ]
}

// Whether logins could be given away by a page that redirects (src/identity/auth/return-addresses.ts).

const NAMED_MAX = 3

const checkReturnAddresses = async ({ config, db }: HasConfig & HasDb): Promise<readonly Finding[]> => {
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

// Whether the audit is still archived, where an operator has begun to archive it.

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

export type Examined = HasConfig & HasDb & HasChains & HasMailer & Pick<Checked, 'role'>

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

/** Runs all checks, each also if other checks fail. */
export const examine = async (examined: Examined): Promise<readonly Finding[]> => {
  const { config, db, role } = examined
  const readsWorkers = role === 'strongroom_api' || role === 'strongroom_console'
  const database = await checkDatabase(examined)
  const isAway = database.some(({ check, state }) => check === 'database' && state === 'failed')
  const onDatabase = async (name: string, check: () => Promise<readonly Finding[]>) => {
    if (isAway) return [findingsOf(name).unchecked('the database cannot be used')]
    return check().catch((error: unknown) => [
      findingsOf(name).failed(explainFailure(error), 'Correct that, and run it again.'),
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
