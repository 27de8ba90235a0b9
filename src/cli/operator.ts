import { readConfig } from '../config.ts'
import { type Ctx, createCtx } from '../context.ts'

/** How the audit names whoever works with the command line. */
export const OPERATOR = 'operator'

/** Runs a command with the full context, and always ends its connections. */
export const withCtx = async (command: (ctx: Ctx) => Promise<void>): Promise<void> => {
  const ctx = await createCtx({ config: { ...readConfig(), logLevel: 'silent' }, process: 'cli' })
  try {
    await command(ctx)
  } finally {
    await ctx.db.close({ timeoutSeconds: 5 })
  }
}

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

export const printJson = (value: unknown): void => print(JSON.stringify(value))
