import { Command } from 'commander'
import { ISSUER_ALGORITHMS, type IssuerAlgorithm } from '../../../db/words.ts'
import { addIssuer, callbackOf, listIssuers, removeIssuer, USUAL_ALGORITHMS } from '../../identity/issuers/issuers.ts'
import { listOf, OPERATOR, uuid } from './arguments.ts'
import type { Shell } from './shell.ts'

type Options = {
  readonly audience: string
  readonly audienceClaim: string
  readonly claim: string
  readonly algorithms: readonly IssuerAlgorithm[]
  readonly clientId?: string
  readonly clientSecret?: boolean
}

export const issuerCommands = ({ print, printJson, readSecrets, withReadingCtx, withIdentityCtx }: Shell): Command => {
  const command = new Command('issuers').description(
    'The identity providers whose tokens a project takes. Whoever signs with the keys of such an issuer can call as each of its users.',
  )
  command
    .command('add')
    .description('Take the tokens of an identity provider, after its keys were read once.')
    .argument('<project-id>', 'the project', uuid)
    .argument('<name>', 'what callers send as X-WalletKit-Token-Source, for instance firebase')
    .argument('<issuer>', 'the claim "iss" of its tokens, a URL with OpenID Connect Discovery')
    .requiredOption('--audience <audience>', 'what the claim "aud" of its tokens must be, or contain')
    .option('--audience-claim <name>', 'for tokens without "aud": the claim in its place, as azp or client_id', 'aud')
    .option('--claim <name>', 'the claim that names the user: one that is never given to another user', 'sub')
    .option(
      '--algorithms <list>',
      `how it signs, of ${ISSUER_ALGORITHMS.join(', ')}`,
      listOf(ISSUER_ALGORITHMS),
      USUAL_ALGORITHMS,
    )
    .option('--client-id <id>', 'offer it on the login page too: the id that the issuer gave this service')
    .option('--client-secret', 'the issuer gave a secret too: read it from standard input')
    .action((projectId: string, name: string, issuer: string, options: Options) =>
      withIdentityCtx(async (ctx) => {
        const { audience, audienceClaim, claim, algorithms, clientId = null } = options
        const [clientSecret = null] = options.clientSecret === true ? await readSecrets(['client secret']) : []
        const facts = { projectId, name, issuer, audience, audienceClaim, userClaim: claim, algorithms }
        await addIssuer(ctx, { ...facts, clientId, clientSecret, actor: OPERATOR })
        print(`Tokens of ${issuer} are taken now, with the header X-WalletKit-Token-Source: ${name}`)
        if (clientId === null) return
        print(`The login page offers it. Register there, exactly: ${callbackOf(ctx.config, { projectId, name })}`)
      }),
    )
  command
    .command('list')
    .description('List the identity providers of a project.')
    .argument('<project-id>', 'the project', uuid)
    .option('--json', 'print a JSON array')
    .action((projectId: string, { json }: { json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const issuers = await listIssuers(ctx, { projectId })
        if (json) return printJson(issuers)
        for (const each of issuers) {
          const claim = each.audience_claim === 'aud' ? '' : ` by ${each.audience_claim}`
          print(
            `${each.name}  ${each.issuer}  audience ${each.audience}${claim}  user by ${each.user_claim}  ${each.algorithms.join(',')}`,
          )
          if (each.client_id === null) continue
          print(`  on the login page, as client ${each.client_id}, with the callback ${each.callback}`)
        }
        if (issuers.length === 0) print('The project has no issuer.')
      }),
    )
  command
    .command('remove')
    .description('Take the tokens of an identity provider no more. Sessions that its users began here continue.')
    .argument('<project-id>', 'the project', uuid)
    .argument('<name>', 'as "list" shows it')
    .action((projectId: string, name: string) =>
      withIdentityCtx(async (ctx) => {
        await removeIssuer(ctx, { projectId, name, actor: OPERATOR })
        print('Its tokens are refused now.')
      }),
    )
  return command
}
