/** Stops this process with SIGTERM when the process that started it ends, if the two have an IPC channel. */
export const endWithParent = (): void => {
  if (process.connected) process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}
