interface ConfirmButtonsOptions {
  /** Why the last attempt failed; empty before the first. */
  readonly problem: string
  /** The label of the cancel button. */
  readonly back: string
  readonly onBack: () => void
  readonly isDestructive: boolean
  readonly isDisabled: boolean
}

/** The buttons of a form that asks for confirmation. */
export const ConfirmButtons = ({ problem, back, onBack, isDestructive, isDisabled }: ConfirmButtonsOptions) => (
  <>
    <p role="alert" class="error">
      {problem}
    </p>
    <p class="buttons">
      <button type="button" onClick={onBack}>
        {back}
      </button>
      <button type="submit" class={isDestructive ? 'danger' : 'main'} disabled={isDisabled}>
        {isDestructive ? 'Yes, do it' : 'Do it'}
      </button>
    </p>
  </>
)
