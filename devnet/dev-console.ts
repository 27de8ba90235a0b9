import { createIdentityCtx } from '../src/main/keyed-contexts.ts'
import { inviteOperator } from '../src/operators/console/operators.ts'
import { readConfig } from '../src/platform/config.ts'
import type { Variables } from '../src/platform/environment/variables.ts'

/** A link that logs the developer in at the console, once, within ten minutes. @param variables as of the API. */
export const consoleLink = async (variables: Variables, origin: string): Promise<string> => {
  const ctx = await createIdentityCtx({ config: readConfig(variables), process: 'dev' })
  try {
    const secret = await inviteOperator(ctx, { name: 'dev', role: 'operator', actor: 'operator' })
    return `${origin}/link?secret=${secret}`
  } finally {
    await ctx.close({ timeoutSeconds: 1 })
  }
}
