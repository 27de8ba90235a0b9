import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'

/**
 * A child process that never outlives this one, even after SIGKILL.
 *
 * The child's shell starts a watcher that reads from a pipe whose other end only this process holds. When this process
 * ends, the kernel closes that end, the watcher's read returns, and it sends the stop signal to the child. The shell
 * then becomes the program (`exec`), so the pid is the program's own. The watcher is forked twice, so that the program
 * has no unknown child. The child gets its own session: Ctrl-C in a terminal reaches only this process, which stops its
 * children in the right order.
 */
export type TetheredProcess = {
  readonly pid: number
  /** Resolves once the process has ended: its exit code, or the signal that ended it. Never rejects. */
  readonly exited: Promise<string>
  /** False once the process has ended. */
  readonly isRunning: () => boolean
  /** Sends the stop signal, after `graceMs` SIGKILL, and resolves when the process has ended. Can be repeated. */
  readonly stop: (graceMs?: number) => Promise<void>
}

/** A program, and how to stop it. */
export type TetheredCommand = {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Both output streams are appended to this file. */
  readonly logPath: string
  readonly stopSignal: 'SIGINT' | 'SIGTERM'
  readonly cwd?: string
  /** Runs as this user, which only root may do. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

/** The watcher ends a moment after the program, and must not keep its folder in use. */
const SCRIPT = `exec 3<&0; ( ( cd / ; read -r _ ; kill -s "$0" $$ ) <&3 >/dev/null 2>&1 & ); exec "$@" </dev/null 3<&-`

/** Starts a program that ends when this process does. @throws Error when it could not be started at all. */
export const startTethered = async (command: TetheredCommand): Promise<TetheredProcess> => {
  const log = openSync(command.logPath, 'a', 0o600)
  const signalName = command.stopSignal.slice('SIG'.length)
  const child = spawn('/bin/sh', ['-c', SCRIPT, signalName, command.program, ...command.args], {
    env: { ...command.env },
    stdio: ['pipe', log, log],
    detached: true,
    ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
    ...command.user,
  })
  closeSync(log)
  let running = true
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      running = false
      child.stdin?.destroy()
      resolve(signal ?? `exit code ${code}`)
    })
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${command.program} did not start.`)

  const stop = async (graceMs = 5000): Promise<void> => {
    if (!running) return
    child.kill(command.stopSignal)
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
    await exited
    clearTimeout(timer)
  }
  return { pid, exited, isRunning: () => running, stop }
}
