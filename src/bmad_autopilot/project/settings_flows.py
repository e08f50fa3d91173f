"""The table [flows]: files of the project that describe flows of its own."""

from ..files import Text
from .config import Config
from .custom import FlowFile
from .settings_errors import refusal, shown
from .settings_file import ReadFile
from .settings_workflows import read_named

KEY = "flows.files"
MAX_FLOWS = 20


def with_flows(text: Text, config: Config, read: ReadFile) -> Config:
    """With the files read from where the settings were; what is inside is looked at where flows are wanted."""
    paths = config.flow_files
    if len(paths) > MAX_FLOWS:
        raise refusal(text, KEY, f"`{KEY}` names too many files", f"at most {MAX_FLOWS}", str(len(paths)))
    odd = next((path for path in paths if not path.endswith((".yaml", ".yml"))), None)
    if odd is not None:
        raise refusal(
            text, KEY, f"`{KEY}` names what is no flow's file", "a file that ends with .yaml", shown(odd)
        )
    files = (FlowFile(path, read_named(text, KEY, path, read).raw) for path in dict.fromkeys(paths))
    return config._replace(flows=tuple(files))
