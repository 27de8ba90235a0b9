import { Command } from 'commander'
import { API_KEY_SCOPES, type ApiKeyScope } from '../../../db/words.ts'
import { createApiKey, listApiKeys, revokeApiKey } from '../../identity/api-keys/api-keys.ts'
import { instant, listOf, OPERATOR, rowAsJson, timeOr, uuid } from './arguments.ts'
import type { Shell } from './shell.ts'

type CreateOptions = {
  project: string
  name: string
  scopes: readonly ApiKeyScope[]
  expires?: Date
  json?: boolean
}

const create = ({ print, printJson, withIdentityCtx }: Shell): Command =>
  new Command('create')
    .description('Create an API key. It is shown once.')
    .requiredOption('--project <id>', 'the project', uuid)
    .requiredOption('--name <name>', 'the name of the key')
    .option(
      '--scopes <list>',
      'read: look-ups, lists and previews; sign: sign, send, mint, transfer, collections, tokens; admin: new wallets, import, export, PIN changes, policies',
      listOf(API_KEY_SCOPES),
      API_KEY_SCOPES,
    )
    .option('--expires <time>', 'when it expires, for instance 2027-01-31T00:00:00Z; by default never', instant)
    .option('--json', 'print { api_key_id, api_key, project_id, name, scopes, expires_at }')
    .action(({ project: projectId, name, scopes, expires, json }: CreateOptions) =>
      withIdentityCtx(async (ctx) => {
        const expiresAt = expires ?? null
        const { id, text } = await createApiKey(ctx, { projectId, name, scopes, expiresAt, actor: OPERATOR })
        if (json)
          return printJson(rowAsJson({ apiKeyId: id, apiKey: text, projectId, name: name.trim(), scopes, expiresAt }))
        print(`api key id: ${id}`)
        print(`api key:    ${text}`)
        print(`scopes:     ${scopes.join(', ')}`)
        print(`expires:    ${timeOr('never', expiresAt)}`)
        print('Keep the key now: it is stored only as a hash and cannot be shown again.')
      }),
    )

const list = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('list')
    .description("List a project's API keys, oldest first, including revoked and expired ones.")
    .requiredOption('--project <id>', 'the project', uuid)
    .option('--json', 'print a JSON array')
    .action(({ project, json }: { project: string; json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const keys = await listApiKeys(ctx, project)
        if (json) return printJson(keys.map(({ projectId: _, ...key }) => rowAsJson(key)))
        for (const { id, name, scopes, expiresAt, lastUsedAt, revokedAt } of keys) {
          const life =
            revokedAt === null ? `expires ${timeOr('never', expiresAt)}` : `revoked ${revokedAt.toISOString()}`
          print(`${id}  ${scopes.join(',')}  ${life}  last used ${timeOr('never', lastUsedAt)}  ${name}`)
        }
      }),
    )

const revoke = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('revoke')
    .description('Revoke an API key at once.')
    .argument('<api-key-id>', '', uuid)
    .action((id: string) =>
      withIdentityCtx(async (ctx) => {
        const isNew = await revokeApiKey(ctx, { id, actor: OPERATOR })
        print(
          isNew
            ? 'The API key is revoked: it is refused from the next request on.'
            : 'The API key was already revoked.',
        )
      }),
    )

export const apiKeyCommands = (shell: Shell): Command =>
  new Command('api-key')
    .description("Projects' API keys. Each has a name, scopes and an expiry, and is stored only as a hash.")
    .addCommand(create(shell))
    .addCommand(list(shell))
    .addCommand(revoke(shell))
