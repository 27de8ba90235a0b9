// What an operator can do at the console. Each action is asked once: its page says what it will do, and only the form on that page
// does it. Verbs write the audit, with the operator's name.

import { FREEZE_SCOPES } from '../../../db/words.ts'
import { AppError, unreachable } from '../../platform/errors.ts'
import { cancelTransaction, retryTransaction } from '../../signing/transactions/waiting.ts'
import { retryFailedJobs, retryJob } from '../background/retry.ts'
import { freeze, type Target, unfreeze } from '../freezes/freeze.ts'
import type { ConsoleCtx } from './context.ts'
import { type Fields, idIn, type Prepared, textIn } from './prepared.ts'
import { WEBHOOK_ACTIONS } from './webhook-actions.ts'

const transactionRetry = (fields: Fields): Prepared => {
  const id = idIn(fields, 'id')
  return {
    title: 'Send this transaction again?',
    sentences: [
      `The attempt that is chosen now of transaction ${id} is sent to a node at once.`,
      'Sending twice does no harm: a node that has it already keeps it.',
    ],
    button: 'Send it now',
    asks: null,
    fields: { id },
    back: `/transactions/${id}`,
    run: async (ctx, { actor }) => {
      await retryTransaction(ctx, { id, actor, reach: null })
      return 'A job sends it now, if a worker runs.'
    },
  }
}

const transactionCancel = (fields: Fields): Prepared => {
  const id = idIn(fields, 'id')
  return {
    title: 'Give up this transaction?',
    sentences: [
      `From now on only the cancel of transaction ${id} is sent. It does nothing but use the nonce.`,
      'This cannot be undone without the wallet’s credential. A node may have an attempt already: if that is mined, it counts.',
    ],
    button: 'Give it up',
    asks: null,
    fields: { id },
    back: `/transactions/${id}`,
    run: async (ctx, { actor }) =>
      (await cancelTransaction(ctx, { id, actor, reach: null })).isNew
        ? 'Given up: it ends as failed (expired) once the cancel is final, unless an attempt is mined before.'
        : 'It was already given up.',
  }
}

const jobRetry = (fields: Fields): Prepared => {
  const id = textIn(fields, 'id')
  if (!/^[1-9][0-9]{0,17}$/.test(id)) throw new AppError('invalid_input', 'Field "id" must be the number of a job.')
  return {
    title: 'Run this job again?',
    sentences: [`Job ${id} runs now, as if it had never failed. If a worker runs it already, nothing happens.`],
    button: 'Run it now',
    asks: null,
    fields: { id },
    back: '/jobs',
    run: async (ctx, { actor }) => {
      const job = await retryJob(ctx, { id: BigInt(id), actor })
      return `Job ${job.id} (${job.task}) runs again now, if a worker runs.`
    },
  }
}

const jobsRetry = (): Prepared => ({
  title: 'Run all failed jobs again?',
  sentences: ['All jobs whose last run failed, at most 1,000, run now, as if they had never failed.'],
  button: 'Run them now',
  asks: null,
  fields: {},
  back: '/jobs?failed=yes',
  run: async (ctx, { actor }) => {
    const jobs = await retryFailedJobs(ctx, { actor })
    return jobs.length === 0 ? 'No job has failed.' : `Jobs that run again now, if a worker runs: ${jobs.length}.`
  },
})

const targetIn = (ctx: ConsoleCtx, fields: Fields): Target => {
  const scope = FREEZE_SCOPES.find((each) => each === fields.get('scope'))
  switch (scope) {
    case 'project':
      return { scope, projectId: idIn(fields, 'project') }
    case 'owner':
      return { scope, projectId: idIn(fields, 'project'), ownerId: textIn(fields, 'owner') }
    case 'wallet':
      return { scope, walletId: idIn(fields, 'wallet') }
    case 'network':
      return { scope, network: networkIn(ctx, fields) }
    case undefined:
      throw new AppError('invalid_input', `Field "scope" must be one of ${FREEZE_SCOPES.join(', ')}.`)
    default:
      return unreachable(scope)
  }
}

const networkIn = ({ config }: ConsoleCtx, fields: Fields): string => {
  const found = config.networks.find(({ network }) => network === fields.get('network'))
  if (found === undefined) throw new AppError('invalid_input', 'Field "network" must be a network of this deployment.')
  return found.network
}

/** As fields of a link to the action. */
export const fieldsOfTarget = (target: Target): Readonly<Record<string, string>> => {
  switch (target.scope) {
    case 'project':
      return { scope: target.scope, project: target.projectId }
    case 'owner':
      return { scope: target.scope, project: target.projectId, owner: target.ownerId }
    case 'wallet':
      return { scope: target.scope, wallet: target.walletId }
    case 'network':
      return { scope: target.scope, network: target.network }
    default:
      return unreachable(target)
  }
}

const nameOf = (target: Target): string => {
  switch (target.scope) {
    case 'project':
      return `the project ${target.projectId}`
    case 'owner':
      return `the owner ${target.ownerId} of the project ${target.projectId}`
    case 'wallet':
      return `the wallet ${target.walletId}`
    case 'network':
      return `the network ${target.network}, for all projects`
    default:
      return unreachable(target)
  }
}

/** @throws unavailable */
const freezerOf = ({ db, vault }: ConsoleCtx) => {
  if (vault === null) throw new AppError('unavailable', 'Only a vault freezes: set VAULT_SOCKET for the console, too.')
  return { db, vault }
}

const freezing = (fields: Fields, ctx: ConsoleCtx): Prepared => {
  const target = targetIn(ctx, fields)
  const ofWallet =
    target.scope === 'wallet'
      ? ['The owner’s wallets on other networks may have the same private key. To stop them too, freeze the owner.']
      : []
  return {
    title: `Freeze ${nameOf(target)}?`,
    sentences: [
      'From the next request on nothing is signed for it, and no wallet of it can be created, exported or changed: callers get the error “frozen”.',
      'Transactions that are already recorded are still sent.',
      ...ofWallet,
    ],
    button: 'Freeze',
    asks: 'reason',
    fields: fieldsOfTarget(target),
    back: '/freezes',
    run: async (on, { actor, reason }) =>
      (await freeze(freezerOf(on), { target, reason, actor }))
        ? `Frozen: ${nameOf(target)}.`
        : `It was already frozen: ${nameOf(target)}.`,
  }
}

const unfreezing = (fields: Fields, ctx: ConsoleCtx): Prepared => {
  const target = targetIn(ctx, fields)
  return {
    title: `Release ${nameOf(target)}?`,
    sentences: [
      'Its keys can be used again from the next request on. What is also frozen in another way stays frozen: a wallet of a frozen project, for instance.',
    ],
    button: 'Release',
    asks: 'reason',
    fields: fieldsOfTarget(target),
    back: '/freezes',
    run: async (on, { actor, reason }) =>
      (await unfreeze(freezerOf(on), { target, reason, actor }))
        ? `Released: ${nameOf(target)}.`
        : `It was not frozen: ${nameOf(target)}.`,
  }
}

const auditVerify = (): Prepared => ({
  title: 'Check the whole audit?',
  sentences: [
    'Every audit row is read and computed again. With millions of rows this takes minutes. Nothing is changed.',
    'The chains and the rows of vaults are checked too if this process may open a vault’s operator socket. The archive of the audit is not read. What was not checked is said.',
  ],
  button: 'Check it',
  asks: null,
  fields: {},
  back: '/audit/check',
  run: async ({ auditCheck }, { actor }) =>
    auditCheck.begin(actor) ? 'The check has begun.' : 'A check is running already.',
})

/** By the last part of their path. */
export const ACTIONS: Readonly<Record<string, (fields: Fields, ctx: ConsoleCtx) => Prepared>> = {
  'transaction-retry': transactionRetry,
  'transaction-cancel': transactionCancel,
  'job-retry': jobRetry,
  'jobs-retry': jobsRetry,
  freeze: freezing,
  unfreeze: unfreezing,
  'audit-verify': auditVerify,
  ...WEBHOOK_ACTIONS,
}
