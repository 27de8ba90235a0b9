import { Command, Option } from 'commander'
import type { HasDb } from '../../../db/client.ts'
import { EVENT_TYPES, type EventType, WEBHOOK_ORDERS, type WebhookOrder } from '../../../db/words.ts'
import { removeEndpoint, rotateSecret, switchEndpoint } from '../../events/webhooks/change.ts'
import { createEndpoint } from '../../events/webhooks/create.ts'
import { listEndpoints, nameWebhook, type Replayed, replay, sendTest } from '../../events/webhooks/deliveries.ts'
import { failureInWords } from '../../events/webhooks/failure-words.ts'
import { listOf, OPERATOR, rowAsJson, timeOr, uuid, wholeNumber } from './arguments.ts'
import type { Shell } from './shell.ts'

const DAY_SECONDS = 86_400
const EVENT_ID_MAX = 999_999_999

const named = async (ctx: HasDb, id: string) => ({ ...(await nameWebhook(ctx, id)), actor: OPERATOR })

const list = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('list')
    .description('List webhooks with what waits for them and why, oldest first.')
    .option('--project <id>', 'only those of this project', uuid)
    .option('--json', 'print a JSON array')
    .action(({ project, json }: { project?: string; json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const rows = await listEndpoints(ctx, { projectId: project ?? null })
        if (json)
          return printJson(rows.map(({ sealed: _, cursor, ...row }) => rowAsJson({ ...row, cursor: String(cursor) })))
        for (const row of rows) {
          const waiting =
            row.waiting === 0 ? 'nothing waits' : `${row.waiting} wait since ${timeOr('?', row.lateSince)}`
          const why = failureInWords({ failure: row.lastFailure, status: null })
          const failure = why === null ? '' : `  last failure ${timeOr('?', row.lastFailureAt)}: ${why}`
          const order = row.order === 'none' ? '  in no order' : ''
          print(`${row.id}  project ${row.projectId}  ${row.state}  ${waiting}  ${row.url}${order}${failure}`)
          if (row.disabledWhy !== null) print(`  ${row.disabledWhy}`)
          if (row.pausedUntil !== null) print(`  Its receiver asked for a pause until ${timeOr('?', row.pausedUntil)}.`)
        }
      }),
    )

type AddOptions = { project: string; url: string; types: readonly EventType[]; email?: string; order: WebhookOrder }

const add = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('add')
    .description('Add a webhook, which gets the events from now on. Its secret is shown once.')
    .requiredOption('--project <id>', 'the project', uuid)
    .requiredOption('--url <url>', 'where events are posted')
    .option('--types <list>', `only these types: ${EVENT_TYPES.join(', ')}`, listOf(EVENT_TYPES), [])
    .option('--email <address>', 'who gets a mail when it is disabled')
    .addOption(
      new Option('--order <order>', '"none": no event waits for an earlier one of its wallet')
        .choices(WEBHOOK_ORDERS)
        .default('wallet'),
    )
    .action(({ project: projectId, url, types: eventTypes, email = undefined, order }: AddOptions) =>
      withIdentityCtx(async (ctx) => {
        const input = { projectId, actor: OPERATOR, url, eventTypes, email: email ?? null, order }
        const { id, secret } = await createEndpoint(ctx, input)
        print(`webhook id: ${id}`)
        print(`secret:     ${secret}`)
        print('Give the secret to the receiver now: it is stored sealed and cannot be shown again.')
      }),
    )

const test = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('test')
    .description('Send a test message.')
    .argument('<webhook-id>', '', uuid)
    .action((id: string) =>
      withIdentityCtx(async (ctx) => {
        const deliveryId = await sendTest(ctx, await named(ctx, id))
        print(`A worker sends the test message ${deliveryId}. "webhooks list" shows if it failed.`)
      }),
    )

const again = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('replay')
    .description('Send again what was not taken within three days.')
    .argument('<webhook-id>', '', uuid)
    .option('--after <event-id>', 'all events after this one instead', wholeNumber({ from: 0, to: EVENT_ID_MAX }))
    .action((id: string, { after }: { after?: number }) =>
      withIdentityCtx(async (ctx) => {
        const replayed: Replayed = after === undefined ? { what: 'failed' } : { what: 'after', number: BigInt(after) }
        const count = await replay(ctx, { ...(await named(ctx, id)), replayed })
        print(`${count} deliveries are sent again.`)
      }),
    )

const enable = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('enable')
    .description('Enable a webhook. It first gets what it missed.')
    .argument('<webhook-id>', '', uuid)
    .action((id: string) =>
      withIdentityCtx(async (ctx) => {
        await switchEndpoint(ctx, { ...(await named(ctx, id)), enabled: true })
        print('It is enabled, and gets what it missed first.')
      }),
    )

const disable = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('disable')
    .description('Disable a webhook. Events wait for it.')
    .argument('<webhook-id>', '', uuid)
    .action((id: string) =>
      withIdentityCtx(async (ctx) => {
        await switchEndpoint(ctx, { ...(await named(ctx, id)), enabled: false })
        print('It is disabled: events wait for it.')
      }),
    )

const rotate = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('rotate-secret')
    .description('Give a webhook another secret.')
    .argument('<webhook-id>', '', uuid)
    .option(
      '--overlap <seconds>',
      'how long the secret before signs too',
      wholeNumber({ from: 0, to: 7 * DAY_SECONDS }),
      DAY_SECONDS,
    )
    .action((id: string, { overlap: overlapSeconds }: { overlap: number }) =>
      withIdentityCtx(async (ctx) => {
        print(`secret: ${await rotateSecret(ctx, { ...(await named(ctx, id)), overlapSeconds })}`)
        print(`The secret before signs too, for ${overlapSeconds} seconds.`)
      }),
    )

const remove = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('remove')
    .description('Remove a webhook with its deliveries.')
    .argument('<webhook-id>', '', uuid)
    .action((id: string) =>
      withIdentityCtx(async (ctx) => {
        await removeEndpoint(ctx, await named(ctx, id))
        print('It is removed, with its deliveries.')
      }),
    )

export const webhookCommands = (shell: Shell): Command =>
  new Command('webhooks')
    .description("URLs that get projects' events.")
    .addCommand(list(shell))
    .addCommand(add(shell))
    .addCommand(test(shell))
    .addCommand(again(shell))
    .addCommand(enable(shell))
    .addCommand(disable(shell))
    .addCommand(rotate(shell))
    .addCommand(remove(shell))
